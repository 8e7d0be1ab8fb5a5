"""The window itself, in a process of its own."""
