"""The way back: a question in a process that can be made to die, the person who answers it, and what came of it."""
