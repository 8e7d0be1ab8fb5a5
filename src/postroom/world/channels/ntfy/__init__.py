"""Messages to the topics of an ntfy server."""
