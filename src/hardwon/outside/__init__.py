"""What we talk to that is not ours: git, and later an LLM endpoint and embedders."""
