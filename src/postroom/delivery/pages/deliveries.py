"""The console's deliveries: find one, see why it is where it is, correct it, and open what it carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.console.frame import Place
from postroom.console.lists import Filter, FilterKind, Found, ListPage, ListQuery, searched_by
from postroom.console.live import Tools, asked
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.console.words import state_word
from postroom.delivery.afterwards.rules import CorrectionAct
from postroom.delivery.files.kinds import BINARY, shown_as_picture
from postroom.delivery.reading.file import DeliveryQuery, RowPage, read_choice, read_uuid, read_word
from postroom.delivery.reading.record import DeliverySummary
from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.kernel.values.ids import is_uuid, to_us
from postroom.kernel.values.zones import known_zone
from postroom.message.attachment import Attachment, FileContents, attachment_object
from postroom.message.delivery import Intent, Priority, Status
from postroom.overview.counts import ConsoleOverview
from postroom.overview.story import DeliveryFile
from postroom.overview.timeline import timeline
from postroom.overview.why import why
from postroom.people.names.resolve import Concerned

_PAGE_SIZE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """What the messenger says at this moment; None when it could not be asked."""

    circuit: Circuit | None
    limits: JsonObject | None

    def throttle_seconds(self, channel: str) -> float | None:
        waits = (self.limits or {}).get("provider_throttles", {})
        return waits[channel]["retry_after_seconds"] if channel in waits else None


def deliveries_section(
    reader: ConsoleOverview,
    tools: Tools,
    files: FileContents,
    concerned: Concerned,
    attempts_for: Callable[[Priority], int],
) -> ConsoleSection:
    async def find(visit: Visit, wanted: ListQuery) -> Found[DeliverySummary] | Response:
        if wanted["q"] and (known := await reader.identified(wanted["q"])):
            return visit.go(f"/deliveries/{known}")
        query = _query(wanted, reader.channels, visit.zone)
        found = await reader.find(query, wanted["q"] or None, await concerned.places(wanted["q"]))
        return Found(rows=found.rows, older=found.before, unfinished=found.unfinished, places=_places(found.rows))

    listed = ListPage(
        title="Deliveries",
        lead="Every message that was accepted, newest first. Open one to see why it is where it is.",
        parts="deliveries.html",
        caption="Deliveries, newest first",
        find=find,
        filters=(
            searched_by("A person, an address, words of the message, or an id"),
            Filter(name="status", title="State", options=[(str(one), state_word(one)) for one in Status]),
            Filter(name="channel", title="Channel", options=[(one, one) for one in reader.channels]),
            Filter(name="intent", title="Kind", options=[(str(one), str(one)) for one in Intent]),
            Filter(name="origin", title="From", kind=FilterKind.TEXT),
            Filter(name="since", title="After", kind=FilterKind.MOMENT),
            Filter(name="until", title="Before", kind=FilterKind.MOMENT),
        ),
        columns={"To": "", "Message": "excerpt", "State": "state", "From": "from", "When": "when"},
        live="sse:deliveries throttle:3s",
    )

    async def show_file(visit: Visit) -> Response:
        file = await _file(reader, visit)
        listed = [attachment_object(one) for one in file.traced.delivery.attachments]
        return await attached_file(files, listed, visit.path["number"])

    async def show_one(visit: Visit) -> Response:
        file = await _file(reader, visit)
        delivery = file.traced.delivery
        now = await _surroundings(visit, tools, delivery.channel)
        around = replace(
            file.around,
            circuit=now.circuit,
            throttle_seconds=now.throttle_seconds(delivery.channel),
            max_attempts=attempts_for(delivery.priority),
        )
        return visit.show(
            "delivery.html",
            delivery=delivery,
            attachments=[attachment_object(one) for one in delivery.attachments],
            letter=file.traced.letter,
            corrections=file.traced.corrections,
            corrects=file.traced.corrects,
            file=file,
            names=await visit.names(_places([delivery, *file.siblings])),
            now=now,
            around=around,
            bucket=_bucket(now, delivery.channel),
            why=why(file.traced, visit.now_us, around),
            moments=timeline(file, visit.now_us),
            can_correct=_can_correct(file),
        )

    return ConsoleSection(
        name="Deliveries",
        pages=(
            ConsolePage("/deliveries", listed.show),
            ConsolePage("/deliveries/{id}", show_one),
            ConsolePage("/deliveries/{id}/files/{number}", show_file),
            *_correction_pages(tools),
        ),
    )


async def _file(reader: ConsoleOverview, visit: Visit) -> DeliveryFile:
    identifier = visit.path["id"]
    file = await reader.file(identifier.lower()) if is_uuid(identifier) else None
    if file is None:
        raise HTTPException(404)
    return file


def _places(rows: Sequence[DeliverySummary]) -> Sequence[Place]:
    return [(one.channel, one.target_identity) for one in rows]


async def _surroundings(visit: Visit, tools: Tools, channel: str) -> _Surroundings:
    circuits = await asked(tools, visit.principal, "messenger_circuit_status", {"channel": channel})
    limits = await asked(tools, visit.principal, "messenger_rate_limit_status", {"channel": channel})
    told = (circuits or {}).get("circuits", {}).get(channel)
    return _Surroundings(circuit=_circuit(told) if told else None, limits=limits)


def _circuit(told: JsonObject) -> Circuit:
    return Circuit(state=CircuitState(told["state"]), failures=told["consecutive_failures"], reason=told["trip_reason"])


def _bucket(now: _Surroundings, channel: str) -> JsonObject | None:
    buckets: JsonObject = (now.limits or {}).get("channels", {})
    return buckets.get(f"{channel}.bot")


def _query(wanted: ListQuery, channels: Sequence[str], zone: str) -> DeliveryQuery:
    status = read_choice(wanted["status"], "status", Status)
    intent = read_choice(wanted["intent"], "intent", Intent)
    return DeliveryQuery(
        page=RowPage(limit=_PAGE_SIZE, before=read_uuid(wanted.before, "page") if wanted.before else None),
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


# -- Correct a message from its page: another text, or take it back; both work without script ---

_PATIENCE_SECONDS: Final = 5.0
_MARGIN_SECONDS: Final = 20.0
_OPEN: Final = frozenset({Status.AWAITING_APPROVAL, Status.PENDING, Status.IN_PROGRESS, Status.DELIVERED})


def _can_correct(file: DeliveryFile) -> bool:
    """A card is the household's own, a correction is corrected by its message, and what is gone stays so."""
    delivery = file.traced.delivery
    recalled = any(
        one.act is CorrectionAct.RECALL and one.status not in (Status.FAILED, None) for one in file.traced.corrections
    )
    own = delivery.origin_butler == "questions" or delivery.revises is not None
    return delivery.status in _OPEN and not own and not recalled


def _correction_pages(tools: Tools) -> Sequence[ConsolePage]:
    async def revise(visit: Visit) -> Response:
        return await _done(
            visit, tools, "revise_delivery", {"message": visit.form.get("message").replace("\r\n", "\n")}
        )

    async def recall(visit: Visit) -> Response:
        if visit.form.get("sure") != "yes":
            return visit.go(_page(visit), "Nothing was recalled: tick that you mean it.", "bad")
        return await _done(visit, tools, "recall_delivery", {"reason": visit.form.get("reason").strip()})

    return (
        ConsolePage("/deliveries/{id}/revise", revise, "POST"),
        ConsolePage("/deliveries/{id}/recall", recall, "POST"),
    )


def _page(visit: Visit) -> str:
    if not is_uuid(visit.path["id"]):
        raise HTTPException(404)
    return f"/deliveries/{visit.path['id'].lower()}"


async def _done(visit: Visit, tools: Tools, tool: str, asked: JsonObject) -> Response:
    """As the person who is signed in; the messenger knows whether they may."""
    page = _page(visit)
    arguments = {"delivery_id": visit.path["id"].lower(), "wait_seconds": _PATIENCE_SECONDS, **asked}
    try:
        told = await tools.call(visit.principal, tool, arguments, _PATIENCE_SECONDS + _MARGIN_SECONDS)
    except PostroomError as error:
        return visit.go(page, f"Nothing was done: {error.message}.", "bad")
    if told["status"] == "error":
        return visit.go(page, f"Not corrected: {told['error_message']}.", "bad")
    return visit.go(page, str(told["message"]), "bad" if told["status"] == "too_late" else "good")


# -- A file of a message, served so that no browser runs anything in it ---

_ALONE: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"


async def attached_file(files: FileContents, listed: Sequence[JsonObject], number: str) -> Response:
    """Only what is a picture by its bytes is shown in a page; all else is a download, whatever it says it is."""
    index = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else -1
    if not 0 <= index < len(listed):
        raise HTTPException(404)
    one = listed[index]
    try:
        content = await files.read(
            Attachment(upload_id="", sha256=one["sha256"], name=one["name"], media_type="", size=one["size"])
        )
    except PostroomError:
        raise HTTPException(404) from None
    picture = shown_as_picture(content)
    kind = "inline" if picture else "attachment"
    headers = {
        "Content-Security-Policy": _ALONE,
        "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(one['name'], safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type=picture or BINARY, headers=headers)
