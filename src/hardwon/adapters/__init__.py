"""Other frameworks: LangGraph, OpenAI Agents SDK."""
