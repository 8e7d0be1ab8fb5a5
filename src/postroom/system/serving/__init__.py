"""Sockets and HTTP servers of a process, and how many callers they bear."""
