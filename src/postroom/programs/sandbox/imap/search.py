"""IMAP's search keys, as a question that is put to each mail."""

from __future__ import annotations

import email
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from postroom.programs.sandbox.imap.arguments import BadCommand, is_in, numbers
from postroom.programs.sandbox.imap.mail_bytes import mail_bytes
from postroom.programs.sandbox.records import StoredMail

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ALWAYS: Final = frozenset({"ALL", "UNSEEN", "UNANSWERED", "UNDELETED", "UNFLAGGED", "UNDRAFT", "OLD", "NEW", "RECENT"})
_NEVER: Final = frozenset({"SEEN", "ANSWERED", "DELETED", "FLAGGED", "DRAFT"})
_DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Sought:
    """One mail, and where it stands."""

    number: int
    uid: int
    mail: StoredMail

    @property
    def day(self) -> date:
        return datetime.fromtimestamp(self.mail.received_us / 1_000_000, UTC).date()

    def header(self, name: str) -> str:
        return "\n".join(email.message_from_bytes(mail_bytes(self.mail)).get_all(name, []))


Key = Callable[[Sought], bool]


class Search:
    """Reads keys from the front of the words; all of them have to hold."""

    def __init__(self, given: list[str], *, highest: int, highest_uid: int) -> None:
        self._words = given[2:] if [one.upper() for one in given[:1]] == ["CHARSET"] else list(given)
        self._highest, self._highest_uid = highest, highest_uid

    def every(self) -> Key:
        keys = []
        while self._words:
            keys.append(self._key(0))
        if not keys:
            raise BadCommand("search for what?")
        return lambda sought: all(key(sought) for key in keys)

    def _next(self) -> str:
        if not self._words:
            raise BadCommand("an argument is missing")
        return self._words.pop(0)

    def _key(self, depth: int) -> Key:
        if depth > _DEEPEST:
            raise BadCommand("too deep")
        word = self._next()
        match word.upper():
            case "(":
                return self._group(depth)
            case "NOT":
                inner = self._key(depth + 1)
                return lambda sought: not inner(sought)
            case "OR":
                one, other = self._key(depth + 1), self._key(depth + 1)
                return lambda sought: one(sought) or other(sought)
            case name if name in _ALWAYS | _NEVER:
                return lambda _sought: name in _ALWAYS
            case name:
                return self._plain(name, word)

    def _group(self, depth: int) -> Key:
        keys = []
        while self._words[:1] != [")"]:
            keys.append(self._key(depth + 1))
        self._next()
        return lambda sought: all(key(sought) for key in keys)

    def _plain(self, name: str, word: str) -> Key:
        match name:
            case "UID":
                uids = numbers(self._next(), self._highest_uid)
                return lambda sought: is_in(sought.uid, uids)
            case "HEADER":
                field, value = self._next(), self._next()
                return lambda sought: value.lower() in sought.header(field).lower()
            case "FROM" | "TO" | "SUBJECT" | "CC":
                value = self._next()
                return lambda sought: value.lower() in sought.header(name).lower()
            case "BODY" | "TEXT":
                value = self._next()
                return lambda sought: value.lower() in sought.mail.mail.body.lower()
            case "SINCE" | "BEFORE" | "ON":
                return _by_day(name, _date(self._next()))
        places = numbers(word, self._highest)
        return lambda sought: is_in(sought.number, places)


def _by_day(name: str, wanted: date) -> Key:
    if name == "SINCE":
        return lambda sought: sought.day >= wanted
    return lambda sought: sought.day < wanted if name == "BEFORE" else sought.day == wanted


def _date(text: str) -> date:
    try:
        day, month, year = text.split("-")
        return date(int(year), MONTHS.index(month.title()) + 1, int(day))
    except ValueError:
        raise BadCommand("malformed date") from None
