"""The dashboard: pages that the server writes, for people who would rather look than read."""
