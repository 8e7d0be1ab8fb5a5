"""Attention: a script of notices, answers and policies in processes that are made to die, and what came of it."""
