"""Outcomes that nobody has to report: commands, tests, git, agents' hooks."""
