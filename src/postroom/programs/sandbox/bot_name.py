"""The tokens of a household's bots in its sandbox, by which each fetches what is its own."""

from __future__ import annotations

from typing import Final

SANDBOX_TOKEN: Final = "40290:sandbox"  # noqa: S105 - opens nothing but this sandbox


def sandbox_token(name: str = "") -> str:
    return f"{SANDBOX_TOKEN}-{name}" if name else SANDBOX_TOKEN


def bot_name(token: str) -> str:
    """Empty for the one bot that most households have, and for every token of somebody else's."""
    own = f"{SANDBOX_TOKEN}-"
    return token.removeprefix(own) if token.startswith(own) else ""
