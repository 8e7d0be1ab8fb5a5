"""The examples that are no Python programs run, too."""
