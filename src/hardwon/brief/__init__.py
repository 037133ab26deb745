"""What is said before an attempt: context, advice, and the fence around both. Pure functions."""
