"""What Postroom costs, measured; never asserted."""
