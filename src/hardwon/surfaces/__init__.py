"""What callers elsewhere reach: operations, the gate, and the surfaces that derive from them."""
