"""An ntfy server as the sandbox plays it."""
