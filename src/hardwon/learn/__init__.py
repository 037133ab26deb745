"""A record becomes tallies, and tallies become knowledge. Pure functions."""
