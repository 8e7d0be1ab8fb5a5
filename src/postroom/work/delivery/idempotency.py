"""The key of a request, and what counts as the same request."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.delivery import Format
from postroom.domain.markup import markup_text
from postroom.domain.outgoing import Outgoing
from postroom.domain.record import record

_HASHED: Final = 64  # the length of what `_hash` gives


@record
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
    way = _way(outgoing.origin_butler, outgoing.intent, outgoing.channel)
    target = _normal(target_identity)
    same = f"{way}{len(target)}:{target}{_HASHED}:{content_hash(outgoing)}"
    if outgoing.idempotency_key is None:
        request = _normal(request_id)
        derived = _hash(f"{len(request)}:{request}{same}")
        return Identity(key=derived, fingerprint=derived, fresh=outgoing.context is None)
    key = caller_key(outgoing.origin_butler, outgoing.idempotency_key)
    return Identity(key=key, fingerprint=_hash(same), fresh=False)


def caller_key(origin_butler: str, key: str) -> str:
    """What a caller's own key is in the ledger."""
    return _hash(_joined(["caller", _normal(origin_butler), key.strip()]))


def content_hash(outgoing: Outgoing) -> str:
    """Trimmed, but in its own case: "US" is not "us"."""
    subject, message, emoji = (outgoing.subject or "").strip(), outgoing.message.strip(), (outgoing.emoji or "").strip()
    text = f"{len(subject)}:{subject}{len(message)}:{message}{len(emoji)}:{emoji}"
    parts: list[str] = []
    if outgoing.markup is not None or outgoing.revises is not None:
        parts += [markup_text(outgoing.markup) or "", outgoing.revises or ""]
    if outgoing.deletes or outgoing.follows is not None:
        parts.append(f"deletes:{outgoing.deletes}:follows:{outgoing.follows}")
    if outgoing.format is not Format.PLAIN:
        parts.append(f"format:{outgoing.format}")
    parts += [f"file:{one.sha256}:{one.media_type}:{one.name}" for one in outgoing.attachments]
    return _hash(text + _joined(parts)) if parts else _hash(text)


def replay_key(original_key: str, number: int) -> str:
    return f"{original_key.split('::replay-')[0]}::replay-{number}"


@lru_cache(maxsize=1024)  # there are few butlers, and fewer ways
def _way(origin_butler: str, intent: str, channel: str) -> str:
    return _joined([_normal(one) for one in (origin_butler, intent, channel)])


def _normal(text: str) -> str:
    return folded(text.strip())


def _joined(parts: list[str]) -> str:
    """Each with its length before it, so that no joint is ambiguous."""
    return "".join([f"{len(part)}:{part}" for part in parts])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
