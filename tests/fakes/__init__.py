"""Slack, Discord and ntfy as servers of our own, with the person's side of each."""
