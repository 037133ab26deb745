"""Where the command line was up to 0.11, for hooks and settings that name it."""
