"""What is installed, and how it is run."""
