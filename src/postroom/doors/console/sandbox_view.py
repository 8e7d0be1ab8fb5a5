"""What the sandbox tells, sorted the way a phone and a mailbox show it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.doors.console.sandbox_files import ShownFile, shown_files
from postroom.doors.console.sandbox_keys import Key, Toast, asks_for_reply, key_rows, placeholder, toasts
from postroom.doors.console.sandbox_text import LookedText, telegram_looks

MOST_SHOWN: Final = 200

Listing = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    """One message of a chat; `earlier` is what it said before it was edited, oldest first."""

    message_id: int
    text: str
    looks: Sequence[LookedText]
    at: str
    from_person: bool
    reply_to: int | None
    reactions: Sequence[str]
    is_edited: bool
    is_deleted: bool
    earlier: Sequence[str]
    keys: Sequence[Sequence[Key]]
    toasts: Sequence[Toast]
    asks_for_reply: bool
    placeholder: str
    from_id: int | None
    files: Sequence[ShownFile] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """`chats` by when something was last said in them; `bubbles` newest first."""

    chats: Sequence[str]
    chat: str | None
    bubbles: Sequence[Bubble]


def phone(sent: Sequence[Listing], typed: Sequence[Listing], chat: str) -> Phone:
    """`sent` is what the bot said, `typed` what the person did."""
    said = [(one, False) for one in sent] + [(one, True) for one in typed]
    said.sort(key=lambda pair: int(pair[0]["message_id"]), reverse=True)
    chats = list(dict.fromkeys(str(one["chat_id"]) for one, _ in said))
    shown = chat if chat in chats else (chats[0] if chats else None)
    mine = [pair for pair in said if str(pair[0]["chat_id"]) == shown][:MOST_SHOWN]
    return Phone(chats=chats, chat=shown, bubbles=[_bubble(one, from_person) for one, from_person in mine])


def letters(received: Sequence[Listing], written: Sequence[Listing]) -> Sequence[tuple[Listing, bool]]:
    """Newest first, each with whether the person wrote it."""
    both = [(one, False) for one in received] + [(one, True) for one in written]
    return sorted(both, key=lambda pair: int(pair[0]["id"]), reverse=True)[:MOST_SHOWN]


def fingerprint(*listings: object) -> str:
    """The same as long as a page made from them would be."""
    return hashlib.sha256(json.dumps(listings, sort_keys=True).encode()).hexdigest()[:16]


def awaited(shown: Phone) -> Bubble | None:
    """The newest message, when it asks for a reply."""
    newest = next(iter(shown.bubbles), None)
    return newest if newest is not None and newest.asks_for_reply else None


def _bubble(one: Listing, from_person: bool) -> Bubble:
    markup = one["reply_markup"]
    return Bubble(
        message_id=int(one["message_id"]),
        text=str(one["text"]),
        looks=telegram_looks(str(one["text"]), one.get("entities")),
        at=str(one["received_at"]),
        from_person=from_person,
        reply_to=one["reply_to_message_id"],
        reactions=one["reactions"],
        is_edited=bool(one["edits"]),
        is_deleted=bool(one.get("is_deleted")),
        earlier=one["earlier_texts"],
        keys=key_rows(markup),
        toasts=toasts(one["presses"], *(edit["reply_markup"] for edit in one["edits"]), markup),
        asks_for_reply=asks_for_reply(markup),
        placeholder=placeholder(markup),
        from_id=one["from_id"],
        files=shown_files(one),
    )
