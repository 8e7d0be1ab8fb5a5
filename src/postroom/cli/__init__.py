"""The `postroom` command."""
