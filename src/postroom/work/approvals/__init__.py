"""Who must be asked before a message leaves, and what their answer does."""
