"""What the doctor finds."""
