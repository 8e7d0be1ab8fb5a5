"""Which Postroom this is."""

from __future__ import annotations

from functools import cache


@cache
def package_version() -> str:
    """As the installed package says; read when it is asked for, because reading it takes a moment."""
    from importlib.metadata import version

    return version("postroom")
