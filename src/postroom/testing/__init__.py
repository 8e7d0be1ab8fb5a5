"""For authors of channels: the suite that every channel passes, with fake providers on real sockets."""
