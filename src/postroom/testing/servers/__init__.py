"""Fake providers on real sockets; each plays a script and remembers what it was given."""
