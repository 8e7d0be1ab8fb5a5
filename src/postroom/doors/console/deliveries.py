"""Every delivery: find it, and see why it is where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.delivery import Intent, Priority, Status
from postroom.domain.enquiry import DeliveryQuery
from postroom.domain.enquiry import RowPage as Limits
from postroom.domain.errors import ValidationError
from postroom.domain.file_contents import FileContents
from postroom.domain.ids import is_uuid
from postroom.domain.time import to_us
from postroom.domain.wall_clock import known_zone
from postroom.doors.console.asking import asked
from postroom.doors.console.attached_file import attached_file
from postroom.doors.console.concerned import Concerned
from postroom.doors.console.correction_page import can_correct, correction_pages
from postroom.doors.console.names import Names
from postroom.doors.console.ports import Tools
from postroom.doors.console.root import ROOT
from postroom.doors.console.timeline import timeline
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.doors.console.words import state_word
from postroom.work.delivery.enquiries import read_choice, read_uuid, read_word
from postroom.work.delivery.why import Around, why

_PAGE_SIZE: Final = 50
_FILTERS: Final = ("q", "status", "channel", "origin", "intent", "since", "until")


class FoundRows(Protocol):
    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def before(self) -> str | None: ...

    @property
    def unfinished(self) -> bool: ...


class DeliveryReader(Protocol):
    @property
    def channels(self) -> Sequence[str]: ...

    @property
    def attempts_by_priority(self) -> Mapping[Priority, int]: ...

    async def find(self, query: DeliveryQuery, words: str | None, places: Sequence[str] = ()) -> FoundRows:
        """Also what went to one of the places, whatever its words."""
        ...

    async def identified(self, identifier: str) -> str | None: ...

    async def file(self, delivery_id: str) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the messenger says at this moment; None when it could not be asked."""

    circuit: Mapping[str, Any] | None
    limits: Mapping[str, Any] | None

    def throttle_seconds(self, channel: str) -> float | None:
        waits = (self.limits or {}).get("provider_throttles", {})
        return waits[channel]["retry_after_seconds"] if channel in waits else None


def deliveries_section(
    reader: DeliveryReader, tools: Tools, files: FileContents, concerned: Concerned
) -> ConsoleSection:
    async def show_list(visit: Visit) -> Response:
        wanted = {name: visit.query.get(name, "").strip() for name in _FILTERS}
        if wanted["q"] and (known := await reader.identified(wanted["q"])):
            return visit.go(f"/deliveries/{known}")
        problem, found = "", None
        try:
            query, words = _query(wanted, visit.query.get("before"), reader.channels, visit.zone), wanted["q"]
            found = await reader.find(query, words or None, await concerned.places(words))
        except ValidationError as error:
            problem = error.message
        return visit.show(
            "deliveries.html",
            status=200 if found else 400,
            asked=wanted,
            zone=visit.zone,
            found=found,
            problem=problem,
            **_offered(reader.channels),
            names=await _names(visit, found.rows if found else ()),
            in_use=sum(1 for name in _FILTERS if wanted[name]),
            more=_more(wanted, found),
            is_first="before" not in visit.query,
        )

    async def show_file(visit: Visit) -> Response:
        delivery = (await _file(reader, visit))["delivery"]
        return await attached_file(files, delivery.get("attachments") or [], visit.path["number"])

    async def show_one(visit: Visit) -> Response:
        file = await _file(reader, visit)
        delivery = file["delivery"]
        around = await _surroundings(visit, tools, delivery["channel"])
        most = reader.attempts_by_priority[Priority(delivery["priority"])]
        return visit.show(
            "delivery.html",
            delivery=delivery,
            attachments=delivery.get("attachments") or [],
            file=file,
            names=await _names(visit, [delivery, *file["siblings"]]),
            around=around,
            bucket=_bucket(around, delivery["channel"]),
            why=why(delivery, file["attempts"], visit.now_us, _around(file, around, most)),
            moments=timeline(file, visit.now_us),
            can_correct=can_correct(file),
        )

    return ConsoleSection(
        name="Deliveries",
        pages=(
            ConsolePage("/deliveries", show_list),
            ConsolePage("/deliveries/{id}", show_one),
            ConsolePage("/deliveries/{id}/files/{number}", show_file),
            *correction_pages(tools),
        ),
    )


async def _file(reader: DeliveryReader, visit: Visit) -> Mapping[str, Any]:
    identifier = visit.path["id"]
    file = await reader.file(identifier.lower()) if is_uuid(identifier) else None
    if file is None:
        raise HTTPException(404)
    return file


def _offered(channels: Sequence[str]) -> dict[str, Sequence[tuple[str, str]]]:
    """What the filters let a person choose from."""
    return {
        "channels": [(one, one) for one in channels],
        "states": [(str(one), state_word(one)) for one in Status],
        "intents": [(str(one), str(one)) for one in Intent],
    }


async def _names(visit: Visit, rows: Sequence[Mapping[str, Any]]) -> Names:
    return await visit.names((one["channel"], one["target_identity"]) for one in rows)


def _around(file: Mapping[str, Any], now: Surroundings, max_attempts: int) -> Around:
    return Around(
        circuit=now.circuit,
        throttle_seconds=now.throttle_seconds(file["delivery"]["channel"]),
        approval=file["approval"],
        dead_letter=file["delivery"]["dead_letter"],
        ahead=file["ahead"],
        max_attempts=max_attempts,
        corrections=file["corrections"],
        corrects=file["corrects"],
    )


async def _surroundings(visit: Visit, tools: Tools, channel: str) -> Surroundings:
    circuits = await asked(tools, visit.principal, "messenger_circuit_status", {"channel": channel})
    limits = await asked(tools, visit.principal, "messenger_rate_limit_status", {"channel": channel})
    return Surroundings(circuit=(circuits or {}).get("circuits", {}).get(channel), limits=limits)


def _bucket(around: Surroundings, channel: str) -> Mapping[str, Any] | None:
    buckets: Mapping[str, Any] = (around.limits or {}).get("channels", {})
    return buckets.get(f"{channel}.bot")


def _query(wanted: Mapping[str, str], before: str | None, channels: Sequence[str], zone: str) -> DeliveryQuery:
    status = read_choice(wanted["status"], "status", Status)
    intent = read_choice(wanted["intent"], "intent", Intent)
    return DeliveryQuery(
        page=Limits(limit=_PAGE_SIZE, before=read_uuid(before, "page") if before else None),
        origin_butler=read_word(wanted["origin"], "origin"),
        channel=read_choice(wanted["channel"], "channel", channels),
        intent=Intent(intent) if intent else None,
        status=Status(status) if status else None,
        since_us=_moment(wanted["since"], "since", zone),
        until_us=_moment(wanted["until"], "until", zone),
    )


def _moment(text: str, name: str, zone: str) -> int | None:
    """As a browser's field for date and time writes it; read in the visitor's zone."""
    if not text:
        return None
    try:
        return to_us(datetime.fromisoformat(text).replace(tzinfo=known_zone(zone)))
    except (ValueError, OverflowError):
        raise ValidationError(f"“{name}” is not a date and a time") from None


def _more(wanted: Mapping[str, str], found: FoundRows | None) -> str | None:
    if found is None or found.before is None:
        return None
    kept = {name: value for name, value in wanted.items() if value}
    return f"{ROOT}/deliveries?" + urlencode({**kept, "before": found.before})
