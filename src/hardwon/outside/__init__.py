"""What is not ours: git, files, embedders, LLM endpoints."""
