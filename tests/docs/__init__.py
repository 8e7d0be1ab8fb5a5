"""The documentation says what is so."""
