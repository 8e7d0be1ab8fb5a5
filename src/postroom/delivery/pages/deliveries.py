"""A file of a message, served so that no browser runs anything in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.console.frame import Names
from postroom.console.lists import Bulk
from postroom.console.live import Tools, asked
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.console.words import state_word
from postroom.delivery.afterwards.dead_letters import objections
from postroom.delivery.files.kinds import BINARY, shown_as_picture
from postroom.delivery.model import DeadLetter
from postroom.delivery.reading.file import (
    DeadLetterQuery,
    DeliveryQuery,
    read_choice,
    read_reason,
    read_uuid,
    read_word,
)
from postroom.delivery.reading.file import RowPage as Limits
from postroom.kernel.guard.http import ROOT
from postroom.kernel.values.errors import ErrorClass, PostroomError, ValidationError
from postroom.kernel.values.ids import DeadLetterId, is_uuid, to_us
from postroom.kernel.values.principal import Principal
from postroom.kernel.values.zones import known_zone
from postroom.message.attachment import Attachment, FileContents
from postroom.message.delivery import Intent, Priority, Status
from postroom.overview.timeline import timeline
from postroom.overview.why import Around, why
from postroom.people.names.resolve import Concerned

_ALONE: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"


async def attached_file(files: FileContents, listed: Sequence[Mapping[str, Any]], number: str) -> Response:
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


# Correct a message from its page: another text, or take it back; both work without script.


_PATIENCE_SECONDS: Final = 5.0
_MARGIN_SECONDS: Final = 20.0
_OPEN: Final = frozenset({"awaiting_approval", "pending", "in_progress", "delivered"})


def can_correct(file: Mapping[str, Any]) -> bool:
    """A card is the household's own, a correction is corrected by its message, and what is gone stays so."""
    delivery = file["delivery"]
    recalled = any(one["act"] == "recall" and one["status"] not in ("failed", None) for one in file["corrections"])
    own = delivery["origin_butler"] == "questions" or delivery.get("revises") is not None
    return delivery["status"] in _OPEN and not own and not recalled


def correction_pages(tools: Tools) -> Sequence[ConsolePage]:
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


async def _done(visit: Visit, tools: Tools, tool: str, asked: Mapping[str, Any]) -> Response:
    """As the person who is signed in; the messenger knows whether they may."""
    page = _page(visit)
    arguments = {"delivery_id": visit.path["id"].lower(), "wait_seconds": _PATIENCE_SECONDS, **asked}
    try:
        told = await tools.call(visit.principal, tool, arguments, _PATIENCE_SECONDS + _MARGIN_SECONDS)
    except PostroomError as error:
        return visit.go(page, f"Nothing was done: {error.message}.", "bad")
    if told["status"] == "error":
        return visit.go(page, f"Nothing was done: {told['error_message']}.", "bad")
    return visit.go(page, str(told["message"]), "bad" if told["status"] == "too_late" else "good")


# Dead letters: look at them, send them again, or give them up for good; one or many.


_PAGE_SIZE: Final = 50
_MOST_AT_ONCE: Final = 2_000
_FILTERS: Final = ("q", "channel", "origin", "error_class", "discarded")
_HOME: Final = "/dead-letters"


class FoundDeadLetters(Protocol):
    @property
    def letters(self) -> Sequence[DeadLetter]: ...

    @property
    def before(self) -> str | None: ...

    @property
    def unfinished(self) -> bool: ...


class DeadLetterReader(Protocol):
    @property
    def channels(self) -> Sequence[str]: ...

    async def find(self, query: DeadLetterQuery, words: str | None, places: Sequence[str]) -> FoundDeadLetters:
        """With words, those that hold them, and those that were for one of the places."""
        ...

    async def letter(self, dead_letter_id: DeadLetterId) -> tuple[DeadLetter, dict[str, Any]] | None: ...


def dead_letters_section(reader: DeadLetterReader, tools: Tools, bulk: Bulk, concerned: Concerned) -> ConsoleSection:
    pages = _Pages(reader, tools, bulk, concerned)
    return ConsoleSection(
        name="Dead letters",
        pages=(
            ConsolePage(_HOME, pages.show_list),
            ConsolePage(f"{_HOME}/all", pages.act_on_many, "POST"),
            ConsolePage(f"{_HOME}/progress/{{id}}", pages.show_work),
            ConsolePage(f"{_HOME}/{{id}}", pages.show_one),
            ConsolePage(f"{_HOME}/{{id}}/replay", pages.replay, "POST"),
            ConsolePage(f"{_HOME}/{{id}}/discard", pages.discard, "POST"),
        ),
    )


class _Pages:
    def __init__(self, reader: DeadLetterReader, tools: Tools, bulk: Bulk, concerned: Concerned) -> None:
        self._reader = reader
        self._concerned = concerned
        self._tools = tools
        self._bulk = bulk

    async def show_list(self, visit: Visit) -> Response:
        asked = {name: visit.query.get(name, "").strip() for name in _FILTERS}
        problem, found = "", None
        try:
            found = await self._found(asked, visit.query.get("before"), _PAGE_SIZE)
        except ValidationError as error:
            problem = error.message
        shown = found.letters if found else ()
        return visit.show(
            "dead_letters.html",
            status=400 if problem else 200,
            asked=asked,
            problem=problem,
            found=found,
            letters=shown,
            names=await visit.names((one.channel, one.target_identity) for one in shown),
            in_use=sum(1 for name in _FILTERS if asked[name]),
            channels=[(one, one) for one in self._reader.channels],
            classes=[(str(one), one.replace("_", " ")) for one in ErrorClass],
            more=_more(asked, found.before) if found and found.before else None,
            is_first="before" not in visit.query,
            most_at_once=_MOST_AT_ONCE,
        )

    async def show_one(self, visit: Visit) -> Response:
        letter, content = await self._letter(visit)
        return visit.show(
            "dead_letter.html",
            letter=letter,
            to=(await visit.names([(letter.channel, letter.target_identity)])).at(
                letter.channel, letter.target_identity
            ),
            content=content,
            objections=objections(letter, self._reader.channels),
        )

    async def replay(self, visit: Visit) -> Response:
        path = f"{_HOME}/{visit.path['id']}"
        problem = await self._replay(visit.principal, visit.path["id"], visit.form.get("accept_duplicate") == "yes")
        return visit.go(path, problem, "bad") if problem else visit.go(path, "It is on its way again.")

    async def discard(self, visit: Visit) -> Response:
        path = f"{_HOME}/{visit.path['id']}"
        problem = await self._discard(visit.principal, visit.path["id"], visit.form.get("reason"))
        return visit.go(path, problem, "bad") if problem else visit.go(path, "Discarded.")

    async def act_on_many(self, visit: Visit) -> Response:
        """Either those that are ticked, or all that the filter of the list finds."""
        try:
            ids = await self._chosen(visit)
            if not ids:
                return visit.go(_HOME, "Nothing was chosen, so nothing was done.", "bad")
            if visit.form.get("act") == "discard":
                reason, who = read_reason(visit.form.get("reason")), visit.principal
                work = self._bulk.begin("Discarding", who, ids, lambda one: self._discard(who, one, reason))
            elif visit.form.get("reason").strip():  # Enter in that field presses the first button of the form
                return visit.go(_HOME, "A reason was given for discarding, so nothing was replayed.", "bad")
            else:
                accepts, who = visit.form.get("accept_duplicate") == "yes", visit.principal
                work = self._bulk.begin("Replaying", who, ids, lambda one: self._replay(who, one, accepts))
        except ValidationError as error:
            return visit.go(_HOME, error.message, "bad")
        return visit.go(f"{_HOME}/progress/{work.id}")

    async def show_work(self, visit: Visit) -> Response:
        work = self._bulk.find(visit.path["id"], visit.principal)
        return visit.show("work.html", status=200 if work else 404, work=work)

    async def _chosen(self, visit: Visit) -> Sequence[str]:
        if visit.form.get("which") != "all":
            return [one for one in dict.fromkeys(visit.form.all("id")) if is_uuid(one)][:_MOST_AT_ONCE]
        asked = {name: visit.form.get(name).strip() for name in _FILTERS} | {"discarded": ""}
        return [letter.id for letter in (await self._found(asked, None, _MOST_AT_ONCE)).letters]

    async def _found(self, asked: Mapping[str, str], before: str | None, limit: int) -> FoundDeadLetters:
        query = _query(asked, before, self._reader.channels, limit)
        return await self._reader.find(query, asked["q"] or None, await self._concerned.places(asked["q"]))

    async def _letter(self, visit: Visit) -> tuple[DeadLetter, dict[str, Any]]:
        identifier = visit.path["id"].lower()
        found = await self._reader.letter(DeadLetterId(identifier)) if is_uuid(identifier) else None
        if found is None:
            raise HTTPException(404)
        return found

    async def _replay(self, who: Principal, dead_letter_id: str, accept_duplicate: bool) -> str | None:
        asked = {"dead_letter_id": dead_letter_id, "accept_duplicate": accept_duplicate}
        return await self._done(who, "messenger_dead_letter_replay", asked)

    async def _discard(self, who: Principal, dead_letter_id: str, reason: str) -> str | None:
        asked = {"dead_letter_id": dead_letter_id, "reason": reason}
        return await self._done(who, "messenger_dead_letter_discard", asked)

    async def _done(self, who: Principal, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """None, or a sentence that says why nothing was done."""
        try:
            answer = await self._tools.call(who, tool, arguments)
        except PostroomError as error:
            return f"Nothing was done: {error.message}."
        return str(answer["error"]) if "error" in answer else None


def _query(asked: Mapping[str, str], before: str | None, channels: Collection[str], limit: int) -> DeadLetterQuery:
    error_class = read_choice(asked["error_class"], "error class", ErrorClass)
    return DeadLetterQuery(
        page=Limits(limit=limit, before=read_uuid(before, "page") if before else None),
        channel=read_choice(asked["channel"], "channel", sorted(channels)),
        origin_butler=read_word(asked["origin"], "origin"),
        error_class=ErrorClass(error_class) if error_class else None,
        include_discarded=asked["discarded"] == "yes",
    )


def _more(asked: Mapping[str, str], before: str) -> str:
    kept = {name: value for name, value in asked.items() if value}
    return f"{ROOT}{_HOME}?" + urlencode({**kept, "before": before})


# Every delivery: find it, and see why it is where it is.

_DELIVERIES_FILTERS: Final = ("q", "status", "channel", "origin", "intent", "since", "until")


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
        wanted = {name: visit.query.get(name, "").strip() for name in _DELIVERIES_FILTERS}
        if wanted["q"] and (known := await reader.identified(wanted["q"])):
            return visit.go(f"/deliveries/{known}")
        problem, found = "", None
        try:
            query, words = (
                _deliveries_query(wanted, visit.query.get("before"), reader.channels, visit.zone),
                wanted["q"],
            )
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
            in_use=sum(1 for name in _DELIVERIES_FILTERS if wanted[name]),
            more=_deliveries_more(wanted, found),
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


def _deliveries_query(
    wanted: Mapping[str, str], before: str | None, channels: Sequence[str], zone: str
) -> DeliveryQuery:
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


def _deliveries_more(wanted: Mapping[str, str], found: FoundRows | None) -> str | None:
    if found is None or found.before is None:
        return None
    kept = {name: value for name, value in wanted.items() if value}
    return f"{ROOT}/deliveries?" + urlencode({**kept, "before": found.before})
