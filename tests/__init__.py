"""The test suite; it mirrors src/postroom."""
