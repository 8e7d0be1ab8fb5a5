"""Whether our own mail server has proved who sent a mail, by the Authentication-Results it wrote (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

_MOST: Final = 4_000
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s;"=]+|[;=]')


@dataclass(frozen=True, slots=True)
class _Result:
    method: str
    outcome: str
    properties: dict[str, str] = field(default_factory=dict)


def is_proved(results: Sequence[str], authserv_id: str, domain: str) -> bool:
    """
    `results` are the mail's headers of that name, the topmost first, and `domain` is that of its From.

    Only the topmost counts, and only if it is our server's: everything below it may have come with the mail.
    """
    if not authserv_id or not results or not domain:
        return False
    named, found = _read(results[0])
    if named.lower() != authserv_id.lower():
        return False
    judged = [one for one in found if one.method == "dmarc" and one.outcome != "none"]
    if judged:
        return all(one.outcome == "pass" and _is_about(one, domain) for one in judged)
    return any(one.method == "dkim" and one.outcome == "pass" and _is_aligned(one, domain) for one in found)


def _is_about(result: _Result, domain: str) -> bool:
    return result.properties.get("header.from", "").rpartition("@")[2] == domain


def _is_aligned(result: _Result, domain: str) -> bool:
    """Signed by the From's own domain or one above it; a list of public suffixes would be needed for more."""
    given = result.properties
    signer = given.get("header.d") or given.get("header.i", "").rpartition("@")[2]
    return domain == signer or ("." in signer and domain.endswith(f".{signer}"))


def _read(header: str) -> tuple[str, list[_Result]]:
    first, *rest = list(_statements(_TOKEN.findall(_without_comments(header[:_MOST]))))
    return (first[0] if first else ""), [one for one in map(_result, rest) if one is not None]


def _statements(tokens: Sequence[str]) -> Iterator[list[str]]:
    statement: list[str] = []
    for word in tokens:
        if word == ";":
            yield statement
            statement = []
        else:
            statement.append(word)
    yield statement


def _result(tokens: list[str]) -> _Result | None:
    """`method=outcome ptype.property=value …`; a statement that is anything else says nothing."""
    pairs = [
        (tokens[at - 1].lower(), tokens[at + 1].strip('"').lower())
        for at in range(1, len(tokens) - 1)
        if tokens[at] == "="
    ]
    if not pairs or len(tokens) < 3 or tokens[1] != "=":
        return None
    (method, outcome), properties = pairs[0], pairs[1:]
    if len({name for name, _ in properties}) < len(properties):
        return None
    return _Result(method.partition("/")[0], outcome, dict(properties))


def _without_comments(text: str) -> str:
    """Comments nest; a quoted string is no comment, whatever is in it."""
    kept: list[str] = []
    depth, quoted, escaped = 0, False, False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\" and (quoted or depth):
            escaped = True
        elif character == '"' and not depth:
            quoted = not quoted
        elif not quoted and character in "()":
            depth = max(0, depth + (1 if character == "(" else -1))
            kept.append(" ")
            continue
        if not depth:
            kept.append(character)
    return "".join(kept)
