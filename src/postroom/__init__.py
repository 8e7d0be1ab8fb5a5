"""Postroom carries messages between AI agents and people."""
