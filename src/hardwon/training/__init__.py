"""Training memory across episodes: its functions, its file, its merge."""
