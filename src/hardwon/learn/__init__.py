"""Experience becomes knowledge. Pure functions: values in, values out."""
