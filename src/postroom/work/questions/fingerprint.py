"""What makes two questions the same: the words a person would see, whom they are for, and what silence means."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from postroom.domain.question import Wording, wording_object


def fingerprint(wording: Wording, people: Iterable[str]) -> str:
    """
    SHA-256 of canonical JSON.

    In it: kind, text, context, options, form, recipients, secrecy and default. Not in it: channels, urgency, waiting,
    reminders, state, sessions and the deadline, which may differ when the same thing is asked again.
    """
    content = {**wording_object(wording), "people": sorted(set(people))}
    canonical = json.dumps(_composed(content), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _composed(value: Any) -> Any:
    """One spelling of each character: NFC."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return {_composed(str(name)): _composed(one) for name, one in value.items()}
    return [_composed(one) for one in value] if isinstance(value, list | tuple) else value
