"""The key of a request, and what counts as the same request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from postroom.domain.notify import Notify


@dataclass(frozen=True, slots=True)
class Identity:
    """`fingerprint` tells whether two requests under one caller's key really are the same."""

    key: str
    fingerprint: str
    fresh: bool  # nobody can have used this key before, so there is nothing to look up


def identify(notify: Notify, *, request_id: str, target_identity: str) -> Identity:
    """
    A caller's own key stands for itself within its butler. Otherwise the key is
    the request and everything that would make it another message.
    """
    origin = _normal(notify.origin_butler)
    derived = _digest(
        [
            request_id.strip(),
            origin,
            _normal(notify.intent),
            _normal(notify.channel),
            _normal(target_identity),
            content_hash(notify),
        ]
    )
    if notify.idempotency_key is None:
        return Identity(derived, derived, fresh=notify.context is None)
    same = [origin, _normal(notify.intent), _normal(notify.channel), _normal(target_identity), content_hash(notify)]
    return Identity(_digest(["caller", origin, notify.idempotency_key.strip()]), _digest(same), fresh=False)


def content_hash(notify: Notify) -> str:
    """Trimmed, but in its own case: "US" is not "us"."""
    return _digest([(notify.subject or "").strip(), notify.message.strip(), (notify.emoji or "").strip()])


def replay_key(original_key: str, number: int) -> str:
    return f"{original_key.split('::replay-')[0]}::replay-{number}"


def _normal(text: str) -> str:
    return text.strip().lower()


def _digest(parts: list[str]) -> str:
    """Each part with its length before it, so that no joint is ambiguous."""
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()
