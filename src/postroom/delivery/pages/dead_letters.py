"""The console's dead letters: look at them, send them again, or give them up for good; one or many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.console.lists import Filter, FilterKind, Found, ListPage, ListQuery, searched_by
from postroom.console.live import Bulk, Tools
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.delivery.afterwards.dead_letters import objections
from postroom.delivery.model import DeadLetter
from postroom.delivery.reading.file import DeadLetterQuery, RowPage, read_choice, read_reason, read_uuid, read_word
from postroom.delivery.reading.search import FoundLetters
from postroom.delivery.store.dead_letters import OpenedLetter
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import ErrorClass, PostroomError, ValidationError
from postroom.kernel.values.ids import DeadLetterId, is_uuid
from postroom.kernel.values.principal import Principal
from postroom.overview.counts import ConsoleOverview
from postroom.people.names.resolve import Concerned

_PAGE_SIZE: Final = 50
_MOST_AT_ONCE: Final = 2_000
_FILTERS: Final = ("q", "channel", "origin", "error_class", "discarded")
_HOME: Final = "/dead-letters"


def dead_letters_section(reader: ConsoleOverview, tools: Tools, bulk: Bulk, concerned: Concerned) -> ConsoleSection:
    pages = _Pages(reader, tools, bulk, concerned)
    return ConsoleSection(
        name="Dead letters",
        pages=(
            ConsolePage(_HOME, pages.listed().show),
            ConsolePage(f"{_HOME}/all", pages.act_on_many, "POST"),
            ConsolePage(f"{_HOME}/progress/{{id}}", pages.show_work),
            ConsolePage(f"{_HOME}/{{id}}", pages.show_one),
            ConsolePage(f"{_HOME}/{{id}}/replay", pages.replay, "POST"),
            ConsolePage(f"{_HOME}/{{id}}/discard", pages.discard, "POST"),
        ),
    )


class _Pages:
    def __init__(self, reader: ConsoleOverview, tools: Tools, bulk: Bulk, concerned: Concerned) -> None:
        self._reader = reader
        self._concerned = concerned
        self._tools = tools
        self._bulk = bulk

    def listed(self) -> ListPage[DeadLetter]:
        return ListPage(
            title="Dead letters",
            lead="Messages that were given up. Replay them when the cause is gone, or discard them with a reason.",
            parts="dead_letters.html",
            caption="Dead letters, newest first",
            find=self._page,
            filters=(
                searched_by("A person, an address, words of the message or of the error"),
                Filter(name="channel", title="Channel", options=[(one, one) for one in self._reader.channels]),
                Filter(
                    name="error_class",
                    title="Error",
                    options=[(str(one), one.replace("_", " ")) for one in ErrorClass],
                ),
                Filter(name="origin", title="From", kind=FilterKind.TEXT),
                Filter(name="discarded", title="Also discarded ones", kind=FilterKind.TICK),
            ),
            columns={"Choose": "choose", "To": "", "What went wrong": "excerpt", "State": "state", "When": "when"},
        )

    async def _page(self, _visit: Visit, asked: ListQuery) -> Found[DeadLetter]:
        found = await self._found(asked.values, asked.before, _PAGE_SIZE)
        return Found(
            rows=found.rows,
            older=found.before,
            unfinished=found.unfinished,
            places=[(one.channel, one.target_identity) for one in found.rows],
            around={"most_at_once": _MOST_AT_ONCE},
        )

    async def show_one(self, visit: Visit) -> Response:
        opened = await self._letter(visit)
        letter = opened.letter
        return visit.show(
            "dead_letter.html",
            letter=letter,
            to=(await visit.names([(letter.channel, letter.target_identity)])).at(
                letter.channel, letter.target_identity
            ),
            said=opened.envelope["delivery"],
            attempts=opened.attempts,
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
        return [letter.id for letter in (await self._found(asked, None, _MOST_AT_ONCE)).rows]

    async def _found(self, asked: Mapping[str, str], before: str | None, limit: int) -> FoundLetters:
        query = _query(asked, before, self._reader.channels, limit)
        return await self._reader.find_letters(query, asked["q"] or None, await self._concerned.places(asked["q"]))

    async def _letter(self, visit: Visit) -> OpenedLetter:
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

    async def _done(self, who: Principal, tool: str, arguments: JsonObject) -> str | None:
        """None, or a sentence that says why nothing was done."""
        try:
            answer = await self._tools.call(who, tool, arguments)
        except PostroomError as error:
            return f"Nothing was done: {error.message}."
        return str(answer["error"]) if "error" in answer else None


def _query(asked: Mapping[str, str], before: str | None, channels: Collection[str], limit: int) -> DeadLetterQuery:
    error_class = read_choice(asked["error_class"], "error class", ErrorClass)
    return DeadLetterQuery(
        page=RowPage(limit=limit, before=read_uuid(before, "page") if before else None),
        channel=read_choice(asked["channel"], "channel", sorted(channels)),
        origin_butler=read_word(asked["origin"], "origin"),
        error_class=ErrorClass(error_class) if error_class else None,
        include_discarded=asked["discarded"] == "yes",
    )
