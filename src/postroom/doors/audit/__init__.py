"""The audit over HTTP, and how its people and places are named."""
