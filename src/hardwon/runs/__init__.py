"""A run read as what it is: steps, what lasted of them, problems and their cures, and how it ended."""
