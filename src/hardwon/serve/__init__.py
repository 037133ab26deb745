"""How people and programs outside Python reach a memory."""
