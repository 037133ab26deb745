"""Fix history: AIMemory, its tables, its knowledge base, its reports, its adoption."""
