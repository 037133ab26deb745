"""What may be believed, and what may be kept: pure functions, values in, values out."""
