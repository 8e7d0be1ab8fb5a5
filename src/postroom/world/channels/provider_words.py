"""What a provider said about a failure, made safe to store and to show."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 200
_SHORTEST_QUOTE = 6  # a shorter line would match half of every sentence


def provider_words(said: object, *, secrets: Iterable[str] = (), private: Iterable[str] = ()) -> str:
    """
    The sentence without line breaks, credentials and message content.

    A credential is blanked out; a sentence that quotes the message is dropped whole.
    """
    if not isinstance(said, str):
        return ""
    if any(_quotes(said, text) for text in private):
        return ""
    for secret in secrets:
        if secret:
            said = said.replace(secret, "***")
    one_line = "".join(character if character.isprintable() else " " for character in said)
    return " ".join(one_line.split())[:LONGEST]


def _quotes(said: str, text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    return any(len(line) >= _SHORTEST_QUOTE and line in said for line in lines)
