"""How one part of the household calls a tool of another."""
