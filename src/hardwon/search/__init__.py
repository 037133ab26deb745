"""Which records answer a question, and how well. Pure functions."""
