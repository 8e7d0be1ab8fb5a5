"""The command line programs that run a butler's model."""
