"""A memory in a PostgreSQL database, which several machines share."""
