"""The services the sandbox plays beside the phone and the mailbox, as the people there see them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.doors.console.sandbox_files import ShownFile, shown_files
from postroom.doors.console.sandbox_keys import Key, Toast, web_only
from postroom.doors.console.sandbox_text import LookedText, slack_looks

Listing = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """`example` is a place to write in; `direct` are the places with one person, None where people only listen."""

    name: str
    title: str
    example: str
    direct: str | None = None

    def asks_who(self, place: str) -> bool:
        """In a place of many, each act has to say whose it is."""
        return self.direct is not None and re.fullmatch(self.direct, place) is None

    def called(self, place: str) -> str:
        """As people write it: a direct channel of Discord has a number of its own, made from the person's."""
        found = re.fullmatch(self.direct or "", place)
        number = found.groupdict().get("person") if found else None
        return f"user:{int(number)}" if number else place


SERVICES: Final = (
    Service(name="slack", title="Slack", example="U1000", direct=r"[DUW]\w+"),
    Service(name="discord", title="Discord", example="user:2001", direct=r"user:\d+|7(?P<person>\d{18})"),
    Service(name="ntfy", title="ntfy", example="anna"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One message; `only_for` is the one person who sees it, `earlier` what it said before, oldest first."""

    message_id: str
    number: int
    text: str
    looks: Sequence[LookedText]
    at: str
    from_person: bool
    author: str
    answers: str | None
    only_for: str
    reactions: Sequence[str]
    earlier: Sequence[str]
    keys: Sequence[Key]
    toasts: Sequence[Toast]
    is_gone: bool
    files: Sequence[ShownFile] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRoom:
    """`places` by when something was last said in them; `notes` oldest first."""

    service: Service
    places: Sequence[str]
    place: str | None
    notes: Sequence[Note]
    reply_to: Note | None = None

    @property
    def asks_who(self) -> bool:
        return self.service.asks_who(self.place or self.service.example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the person at the page looks at: a service, a place there, and perhaps a message to answer."""

    service: str = ""
    place: str = ""
    reply_to: str = ""


def service_room(
    service: Service, sent: Sequence[Listing], typed: Sequence[Listing], chosen: Chosen, most: int
) -> ServiceRoom:
    """Without a choice: the place the household wrote to last."""
    said = sorted([(one, False) for one in sent] + [(one, True) for one in typed], key=lambda pair: int(pair[0]["id"]))
    places = list(dict.fromkeys(str(one["place"]) for one, _ in reversed(said)))
    place = _place(service, places, sent, chosen)
    here = [pair for pair in said if str(pair[0]["place"]) == place][-most:]
    texts = {str(one["message_id"]): str(one["text"]) for one, _ in here}
    answers = [texts.get(one["thread"], one["thread"]) if service.direct else None for one, _ in here]
    notes = [_note(one, from_person, answered) for (one, from_person), answered in zip(here, answers, strict=True)]
    answered = next(
        (one for one in notes if chosen.service == service.name and one.message_id == chosen.reply_to), None
    )
    return ServiceRoom(service=service, places=places, place=place, notes=notes, reply_to=answered)


def _place(service: Service, places: Sequence[str], sent: Sequence[Listing], chosen: Chosen) -> str | None:
    """A person's address may be another name for the place, which then is the one of the last word."""
    if chosen.service == service.name and chosen.place in places:
        return chosen.place
    if chosen.service != service.name and sent:
        return str(sent[-1]["place"])
    return places[0] if places else None


def _note(one: Listing, from_person: bool, answers: str | None) -> Note:
    return Note(
        message_id=str(one["message_id"]),
        number=int(one["id"]),
        text=str(one["text"]),
        looks=slack_looks(one["body"].get("blocks")) or [LookedText(text=str(one["text"]))],
        at=str(one["received_at"]),
        from_person=from_person,
        author=str(one["from_id"] or "") if from_person else "",
        answers=answers,
        only_for=str(one["body"].get("ephemeral_to") or ""),
        reactions=one["reactions"],
        earlier=one["earlier_texts"],
        keys=[key for button in one["buttons"] if (key := _key(button))],
        toasts=_toasts(one["body"].get("presses")),
        is_gone=bool(one["deleted"]),
        files=shown_files(one),
    )


def _key(button: Listing) -> Key | None:
    """The sandbox lists a button as it was sent: a link that is none of the web is not offered."""
    url, data = web_only(button["url"]), button["data"]
    if url is None and data is None:
        return None
    return Key(label=str(button["label"]), data=None if url else str(data), url=url, look="")


def _toasts(presses: object) -> list[Toast]:
    """What a service showed to the person who pressed, where it says so."""
    shown = [one for one in presses if isinstance(one, Mapping)] if isinstance(presses, list) else []
    return [Toast(label=str(one.get("button", "")), answer=str(one.get("text") or ""), is_alert=False) for one in shown]
