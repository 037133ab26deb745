"""How knowledge comes back: pure functions, values in, values out."""
