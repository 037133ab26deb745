"""What we talk to that is not ours: git and its hooks, settings of other programs, commands, an LLM endpoint, embedders."""
