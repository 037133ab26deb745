"""A situation and its lessons become lines: what fits, what it is worth, how it is said, or silence."""
