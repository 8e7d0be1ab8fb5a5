"""Where a port of some machine is on the web."""

from __future__ import annotations


def in_url(host: str) -> str:
    """The colons of an IPv6 address would be taken for that of the port."""
    return f"[{host}]" if ":" in host else host


def web_address(host: str, port: int) -> str:
    return f"http://{in_url(host)}:{port}"
