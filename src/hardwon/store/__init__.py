"""Where records are kept. SQL lives in this package and nowhere else."""
