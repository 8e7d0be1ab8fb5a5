"""Conversations: people write, butlers answer, and processes die."""
