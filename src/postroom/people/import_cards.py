"""Contacts from a vCard or CSV file, brought into a book, and what could not be read."""

from __future__ import annotations

import csv
import io
import quopri
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from postroom.kernel.values.errors import Code, Refused, SettingsError, sentence
from postroom.people.model import NewPerson
from postroom.people.person_rules import KEYED, new_contact

MOST_CARDS: Final = 20_000
_MOST_COMPLAINTS: Final = 50
_OLD_PROPERTY: Final = re.compile(r"([A-Za-z0-9.-]+)((?:;[^:]*)?):(.*)", re.DOTALL)
_QUOTED: Final = "QUOTED-PRINTABLE"
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
    "agent": "agent",
    "trusted": "trusted",
    **{name: channel for key, channel in KEYED.items() for name in (key, channel)},
}
_OF_A_CHANNEL: Final = {f"X-{one.upper()}{end}": one for one in KEYED.values() for end in ("", "-ID")}
_MOST_BYTES = 200_000_000


class CardFormat(StrEnum):
    VCARD = "vcard"
    CSV = "csv"


_KINDS: Final = {".vcf": CardFormat.VCARD, ".vcard": CardFormat.VCARD, ".csv": CardFormat.CSV}


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
    for name, value in _properties(text):
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


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Names and values. What is no line of a card is passed over."""
    from icalendar.parser import Contentlines  # takes half a second, and many households never need it

    try:
        lines = Contentlines.from_ical(text.removeprefix("\ufeff"))
    except ValueError:
        raise Refused(Code.IMPORT_INVALID, "the file is no vCard") from None
    for line in filter(None, lines):
        try:
            name, parameters, value = line.parts()
            encoding = str(parameters.get("ENCODING", ""))
        except ValueError:  # in vCard 2.1 parameters need no names
            old = _OLD_PROPERTY.fullmatch(line)
            if old is None:
                continue
            name, encoding, value = old.groups()
        if encoding.upper().endswith(_QUOTED):
            value = quopri.decodestring(value.encode("utf-8", "replace")).decode("utf-8", "replace")
        yield name.rpartition(".")[2].upper(), value.strip()


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
        case "X-AGENT":
            values.setdefault("agent", _plain(value))
        case _ if (channel := _OF_A_CHANNEL.get(name)) is not None:
            values.setdefault(channel, _plain(value))


def _contact(values: Mapping[str, str]) -> NewPerson:
    """Nobody becomes trusted by way of a vCard; in a CSV the owner of the file says so."""
    name = values.get("name") or " ".join(part for part in (values.get("first"), values.get("last")) if part)
    return new_contact(
        name=name,
        aliases=[alias for alias in re.split(r"[;|]", values.get("aliases", "")) if alias.strip()],
        agent=values.get("agent"),
        trusted=values.get("trusted", "").lower() in _TRUE,
        **{key: values.get(channel) for key, channel in KEYED.items()},
    )


def _plain(value: str) -> str:
    return re.sub(r"\\([,;\\])", r"\1", re.sub(r"\\[nN]", " ", value)).strip()


def cards_in(content: str, kind: CardFormat) -> ImportedCards:
    return read_vcards(content) if kind is CardFormat.VCARD else read_csv(content)


# A file on this machine, however large it is, as tables that a household takes in one call each.


def cards_of(file: Path) -> ImportedCards:
    kind = _KINDS.get(file.suffix.lower())
    if kind is None:
        raise SettingsError(
            f"{file}: is neither a vCard (.vcf) nor a table (.csv), by its name; name a file of either kind."
        )
    return cards_in(_text_of(file), kind)


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SettingsError(
                f"{file}: is larger than {_MOST_BYTES // 1_000_000} MB; name smaller files, one after the other."
            )
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file}: cannot be read ({type(error).__name__}); name a file in UTF-8 that you may read."
        ) from None


def tables_of(people: Iterable[NewPerson], most_characters: int) -> Iterator[str]:
    """As CSV, whatever kind of file they were read from: pictures stay behind, and each table fits into one call."""
    header = _line(("name", "aliases", "agent", *KEYED.values(), "trusted"))
    table = header
    for one in people:
        places = (one.address_on(channel) or "" for channel in KEYED.values())
        line = _line((one.name, ";".join(one.aliases), one.agent_address or "", *places, "yes" if one.trusted else ""))
        if len(table) + len(line) > most_characters:
            yield table
            table = header
        table += line
    if table != header:
        yield table


def _line(cells: Iterable[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue()
