"""Questions and their presentations on disk."""
