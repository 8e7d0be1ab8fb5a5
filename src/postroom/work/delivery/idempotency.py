"""The key of a request, and what counts as the same request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from postroom.domain.address_folding import folded
from postroom.domain.delivery import Format
from postroom.domain.markup import markup_text
from postroom.domain.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class Identity:
    """`fingerprint` tells whether two requests under one caller's key really are the same."""

    key: str
    fingerprint: str
    fresh: bool  # nobody can have used this key before, so there is nothing to look up


def identify(outgoing: Outgoing, *, request_id: str, target_identity: str) -> Identity:
    """
    A caller's own key stands for itself within its butler. Otherwise the key is
    the request and everything that would make it another message.
    """
    same = [
        _normal(outgoing.origin_butler),
        _normal(outgoing.intent),
        _normal(outgoing.channel),
        _normal(target_identity),
        content_hash(outgoing),
    ]
    if outgoing.idempotency_key is None:
        derived = _digest([request_id.strip(), *same])
        return Identity(derived, derived, fresh=outgoing.context is None)
    return Identity(caller_key(outgoing.origin_butler, outgoing.idempotency_key), _digest(same), fresh=False)


def caller_key(origin_butler: str, key: str) -> str:
    """What a caller's own key is in the ledger."""
    return _digest(["caller", _normal(origin_butler), key.strip()])


def content_hash(outgoing: Outgoing) -> str:
    """Trimmed, but in its own case: "US" is not "us"."""
    parts = [(outgoing.subject or "").strip(), outgoing.message.strip(), (outgoing.emoji or "").strip()]
    if outgoing.markup is not None or outgoing.revises is not None:
        parts += [markup_text(outgoing.markup) or "", outgoing.revises or ""]
    if outgoing.deletes or outgoing.follows is not None:
        parts.append(f"deletes:{outgoing.deletes}:follows:{outgoing.follows}")
    if outgoing.format is not Format.PLAIN:
        parts.append(f"format:{outgoing.format}")
    parts += [f"file:{one.sha256}:{one.media_type}:{one.name}" for one in outgoing.attachments]
    return _digest(parts)


def replay_key(original_key: str, number: int) -> str:
    return f"{original_key.split('::replay-')[0]}::replay-{number}"


def _normal(text: str) -> str:
    return folded(text.strip())


def _digest(parts: list[str]) -> str:
    """Each part with its length before it, so that no joint is ambiguous."""
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()
