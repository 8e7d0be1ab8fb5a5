"""Contacts from a vCard or CSV file, and what could not be read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.domain.errors import Code, Refused, sentence
from postroom.domain.person import NewPerson
from postroom.work.people.new_contact import new_contact

MOST_CARDS: Final = 20_000
_MOST_COMPLAINTS: Final = 50
# A semicolon begins a parameter and never belongs to one, or a line of semicolons could be read in any number of ways.
_PARAMETERS: Final = r"(?:;(?:[^:;\"]|\"[^\"]*\")*)*"
_PROPERTY: Final = re.compile(rf"(?:[A-Za-z0-9-]+\.)?([A-Za-z0-9-]+){_PARAMETERS}:(.*)", re.DOTALL)
_TRUE: Final = frozenset({"1", "true", "yes"})

# What programs call the columns they write.
_COLUMNS: Final = {
    "name": "name",
    "full name": "name",
    "display name": "name",
    "first name": "first",
    "given name": "first",
    "last name": "last",
    "family name": "last",
    "aliases": "aliases",
    "alias": "aliases",
    "nickname": "aliases",
    "email": "email",
    "e-mail": "email",
    "email address": "email",
    "e-mail address": "email",
    "e-mail 1 - value": "email",
    "telegram": "telegram",
    "telegram_chat_id": "telegram",
    "agent": "agent",
    "trusted": "trusted",
}


@dataclass(slots=True)
class ImportedCards:
    """`skipped` names the card and says why; it never repeats what is in it."""

    read: list[NewPerson] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)

    def take(self, number: int, values: Mapping[str, str]) -> None:
        if len(self.read) >= MOST_CARDS:
            raise Refused(Code.IMPORT_INVALID, f"a file may hold at most {MOST_CARDS} contacts")
        try:
            self.read.append(_contact(values))
        except Refused as error:
            if len(self.skipped) < _MOST_COMPLAINTS:
                self.skipped.append((number, sentence(error.fields)))


def read_csv(text: str) -> ImportedCards:
    try:
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    except csv.Error:
        raise Refused(Code.IMPORT_INVALID, "the file is not CSV") from None
    header = [_COLUMNS.get(name.strip().lower(), "") for name in rows[0]] if rows else []
    if not {"name", "first"} & set(header):
        raise Refused(Code.IMPORT_INVALID, "the first line must name the columns, `name` among them")
    cards = ImportedCards()
    for number, row in enumerate(rows[1:], 2):
        values = {column: value.strip() for column, value in zip(header, row, strict=False) if column and value.strip()}
        if values:
            cards.take(number, values)
    return cards


def read_vcards(text: str) -> ImportedCards:
    cards = ImportedCards()
    values: dict[str, str] | None = None
    number = 0
    for line in _unfolded(text):
        match = _PROPERTY.fullmatch(line)
        if match is None:
            continue
        name, value = match[1].upper(), match[2].strip()
        if (name, value.upper()) == ("BEGIN", "VCARD"):
            values, number = {}, number + 1
        elif (name, value.upper()) == ("END", "VCARD") and values is not None:
            cards.take(number, values)
            values = None
        elif values is not None:
            _property(values, name, value)
    if number == 0:
        raise Refused(Code.IMPORT_INVALID, "the file holds no vCard")
    return cards


def _property(values: dict[str, str], name: str, value: str) -> None:
    match name:
        case "FN":
            values.setdefault("name", _plain(value))
        case "N":
            last, first, *_ = [*(_plain(part) for part in re.split(r"(?<!\\);", value)), "", ""]
            values.setdefault("first", first)
            values.setdefault("last", last)
        case "NICKNAME":
            values["aliases"] = ";".join(_plain(part) for part in re.split(r"(?<!\\),", value))
        case "EMAIL":
            values.setdefault("email", _plain(value).removeprefix("mailto:"))
        case "X-TELEGRAM" | "X-TELEGRAM-ID":
            values.setdefault("telegram", _plain(value))
        case "X-AGENT":
            values.setdefault("agent", _plain(value))


def _contact(values: Mapping[str, str]) -> NewPerson:
    """Nobody becomes trusted by way of a vCard; in a CSV the owner of the file says so."""
    name = values.get("name") or " ".join(part for part in (values.get("first"), values.get("last")) if part)
    return new_contact(
        name=name,
        aliases=[alias for alias in re.split(r"[;|]", values.get("aliases", "")) if alias.strip()],
        agent=values.get("agent"),
        telegram_chat_id=values.get("telegram"),
        email=values.get("email"),
        trusted=values.get("trusted", "").lower() in _TRUE,
    )


def _unfolded(text: str) -> Iterator[str]:
    """A line that begins with a space goes on with the one before."""
    kept: str | None = None
    for line in text.removeprefix("\ufeff").splitlines():
        if line[:1] in (" ", "\t") and kept is not None:
            kept += line[1:]
            continue
        if kept is not None:
            yield kept
        kept = line
    if kept is not None:
        yield kept


def _plain(value: str) -> str:
    return re.sub(r"\\([,;\\])", r"\1", re.sub(r"\\[nN]", " ", value)).strip()
