"""Pictures of a running household: every page of the console, and what the documentation shows."""
