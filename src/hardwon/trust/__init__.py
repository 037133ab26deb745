"""What may be believed and kept: lifecycle, staleness, redaction, access. Pure functions."""
