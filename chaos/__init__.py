"""Break a running Postroom in every way we know of, and count what arrived."""
