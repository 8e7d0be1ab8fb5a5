"""What waits for a person's word, seen as it would be sent, then approved, changed or rejected; and standing rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from typing import Final, Literal

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.approvals.approvals import Approvals
from postroom.approvals.card import shown_files
from postroom.approvals.model import CONSOLE, Action, ActionStatus, ConstraintKind, ShownAction, StandingRule
from postroom.approvals.rules import RuleRequest, parse_rule_request
from postroom.console.frame import NavigationGroup, Place, actors
from postroom.console.lists import Found, ListPage, ListQuery, Shelves
from postroom.console.visit import ConsolePage, ConsoleSection, Form, Visit
from postroom.console.words import state_word
from postroom.delivery.pages.deliveries import attached_file
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import Principal
from postroom.message.attachment import FileContents
from postroom.questions.page import QuestionCard

_PAGE_SIZE: Final = 20
_EDITABLE: Final = ("recipient", "subject", "message", "emoji")
_IN_PLACE: Final = 5  # so many stand on other pages
_CONSTRAINTS: Final = ("origin_butler", "recipient", "channel")
_BACK: Final = {"today": "/"}
_CHANGED_NOTHING: Final = "Your decision changed nothing."
_TOO_LATE: Final = frozenset({"already_decided", "too_late"})
_DAY_SECONDS: Final = 24 * 3600.0
_MOST_DAYS: Final = 3650
_WORDS: Final = re.compile(r"\s+|[^\s]+")
_MOST_COMPARISONS: Final = 500_000


# ---- what waits ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPages:
    """`letters` are the channels whose messages have a subject."""

    approvals: Approvals
    letters: Collection[str]
    files: FileContents

    def listed(self) -> ListPage[Action]:
        words = {one: state_word(one) for one in ActionStatus} | {ActionStatus.PENDING: "Waiting", "all": "All"}
        return ListPage(
            title="Approvals",
            parts="approvals.html",
            find=self._find,
            shelves=Shelves("status", words) if self.approvals.is_on else None,
            live="sse:approvals throttle:2s",
            said="Approvals were brought up to date.",
        )

    async def _find(self, visit: Visit, asked: ListQuery) -> Found[Action]:
        """What does not answer is not nothing."""
        is_on, listed = self.approvals.is_on, None
        if is_on:
            with suppress(PostroomError):
                listed = await self.approvals.page(
                    visit.principal, status=asked.shelf, cursor=asked.before, limit=_PAGE_SIZE
                )
        around = {"is_on": is_on, "is_known": listed is not None}
        if listed is None:
            return Found(rows=(), around=around)
        places, ids = _people(listed.actions)
        return Found(rows=listed.actions, older=listed.next_cursor, places=places, ids=ids, around=around)

    async def here(self, visit: Visit, most: int = _IN_PLACE) -> Sequence[Action]:
        """What waits, for a page about other things as well. Raises one of our errors."""
        if not self.approvals.is_on:
            return ()
        listed = await self.approvals.page(visit.principal, status=str(ActionStatus.PENDING), cursor=None, limit=most)
        return listed.actions

    async def one(self, visit: Visit) -> Response:
        shown = await self._shown(visit)
        return shown if isinstance(shown, Response) else await self._page(visit, shown)

    async def file(self, visit: Visit) -> Response:
        shown = await self._shown(visit)
        if isinstance(shown, Response):
            return shown
        return await attached_file(self.files, [asdict(one) for one in shown_files(shown)], visit.path["number"])

    async def compare(self, visit: Visit) -> Response:
        """Nothing is done yet: this shows what the edit makes of the message."""
        shown = await self._shown(visit)
        if isinstance(shown, Response):
            return shown
        action, before = shown.action, shown.action.content.shown
        typed = _typed(visit, before)
        if not typed:
            return visit.go(f"/approvals/{action.id}", "You changed nothing.", "bad")
        changes = {name: difference(before[name] or "", text) for name, text in typed.items()}
        after = replace(
            action.content,
            address=typed.get("recipient", action.content.address),
            subject=typed.get("subject", action.content.subject),
            message=typed.get("message", action.content.message),
            emoji=typed.get("emoji", action.content.emoji),
        )
        names = await visit.names([(after.channel, after.address)])
        return visit.show("approval_edit.html", action=action, typed=typed, changes=changes, after=after, names=names)

    async def approve(self, visit: Visit) -> Response:
        _must_be_on(self.approvals)
        action_id = visit.path["id"]
        edits = {name: _text(visit, f"edit_{name}") for name in _EDITABLE if visit.form.all(f"edit_{name}")}
        try:
            _, rule = await self.approvals.approve(
                visit.principal,
                action_id,
                content_hash=visit.form.get("content_hash")[:64],
                edits=edits or None,
                create_rule=rule_wish(visit.form, visit.now_us),
                via=CONSOLE,
            )
        except PostroomError as error:
            if edits and _code(error) not in _TOO_LATE:
                return await self._edit_again(visit, edits, _refusal(error))
            return visit.go(_back(visit, f"/approvals/{action_id}"), _refusal(error), "bad")
        return visit.go(_back(visit, "/approvals"), _approved(rule))

    async def reject(self, visit: Visit) -> Response:
        _must_be_on(self.approvals)
        action_id, reason = visit.path["id"], _text(visit, "reason").strip()
        if not reason:
            return visit.go(f"/approvals/{action_id}", "Say why: the sender sees the reason.", "bad")
        try:
            await self.approvals.reject(visit.principal, action_id, reason, via=CONSOLE)
        except PostroomError as error:
            return visit.go(_back(visit, f"/approvals/{action_id}"), _refusal(error), "bad")
        return visit.go(_back(visit, "/approvals"), "Rejected. It will not be sent, and its sender sees why.")

    async def _edit_again(self, visit: Visit, typed: Mapping[str, str], complaint: str) -> Response:
        shown = await self._shown(visit)
        return shown if isinstance(shown, Response) else await self._page(visit, shown, typed, complaint)

    async def _page(
        self, visit: Visit, shown: ShownAction, typed: Mapping[str, str] | None = None, complaint: str = ""
    ) -> Response:
        places, ids = _people([shown.action], *(event.actor for event in shown.events))
        return visit.show(
            "approval.html",
            status=422 if complaint else 200,
            action=shown.action,
            events=shown.events,
            files=shown_files(shown),
            letters=self.letters,
            typed=typed or {},
            complaint=complaint,
            names=await visit.names(places, ids),
        )

    async def _shown(self, visit: Visit) -> ShownAction | Response:
        """The action, or where to go when it cannot be shown."""
        _must_be_on(self.approvals)
        try:
            return await self.approvals.show(visit.principal, visit.path["id"][:64])
        except PostroomError as error:
            if _code(error) == "unknown_action":
                raise HTTPException(404) from None
            return visit.go("/approvals", f"It cannot be shown just now: {error.message}.", "bad")


def _must_be_on(approvals: Approvals) -> None:
    """Otherwise this household sends without asking."""
    if not approvals.is_on:
        raise HTTPException(404)


def _refusal(error: PostroomError) -> str:
    """In words for the person who just decided, who wants to know what became of it."""
    said = error.fields[0].error if isinstance(error, ValidationError) and error.fields else ""
    match _code(error):
        case "already_decided":
            return f"Too late: this {said}. {_CHANGED_NOTHING}"
        case "too_late":
            return f"{said[:1].upper()}{said[1:]}. {_CHANGED_NOTHING}"
        case "hash_mismatch":
            return "What would be sent is not what you were shown, so nothing was sent. Look again."
        case "content_changed":
            return "What lies in the database is not what was held back, so nothing was sent."
        case _:
            return f"Nothing was done: {error.message}"


def _approved(rule: StandingRule | None) -> str:
    said = "Approved. It is on its way."
    if rule is not None:
        uses = f" for {rule.max_uses} more" if rule.max_uses else ""
        return f"{said} A rule was made{uses}."
    return said


def _people(actions: Sequence[Action], *more: str) -> tuple[list[Place], list[str]]:
    """Those who are written to, and those who decided."""
    places = [(one.content.channel, reveal(one.content.address)) for one in actions]
    return places, actors(*(one.decided_by for one in actions), *more)


def _back(visit: Visit, otherwise: str) -> str:
    """Where the person decided, so that the next one is before them."""
    return _BACK.get(visit.form.get("back"), otherwise)


def _code(error: PostroomError) -> str:
    return error.fields[0].code if isinstance(error, ValidationError) and error.fields else ""


def _typed(visit: Visit, content: Mapping[str, str | None]) -> dict[str, str]:
    """Only what differs: a browser may end lines differently without anybody having changed them."""
    texts = {name: _text(visit, name) for name in _EDITABLE if visit.form.all(name)}
    return {name: text for name, text in texts.items() if text != _unix(content[name] or "")}


def _text(visit: Visit, name: str) -> str:
    return _unix(visit.form.get(name))


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


# ---- what waits, on a page that is about other things as well ----


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingHere:
    """One thing to decide: a question, or a message that waits."""

    at_us: int
    question: QuestionCard | None = None
    action: Action | None = None


def newest_first(questions: Sequence[QuestionCard], actions: Sequence[Action]) -> Sequence[WaitingHere]:
    asked = [WaitingHere(at_us=one.question.created_at_us, question=one) for one in questions]
    parked = [WaitingHere(at_us=one.requested_at_us, action=one) for one in actions]
    return sorted([*asked, *parked], key=lambda one: one.at_us, reverse=True)


# ---- standing rules ----


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePages:
    approvals: Approvals
    channels: Sequence[str]

    async def show(self, visit: Visit) -> Response:
        return await self._page(visit, {}, "")

    async def make(self, visit: Visit) -> Response:
        _must_be_on(self.approvals)
        try:
            asked = rule_request(visit.form, visit.now_us)
            if not asked.constraints:
                return await self._page(visit, dict(visit.form.fields), "Say at least who writes, to whom, or on what.")
            await self.approvals.create_rule(visit.principal, asked)
        except PostroomError as error:
            return await self._page(visit, dict(visit.form.fields), _refusal(error))
        return visit.go("/approvals/rules", "The rule stands from now on.")

    async def revoke(self, visit: Visit) -> Response:
        _must_be_on(self.approvals)
        try:
            await self.approvals.revoke_rule(visit.principal, visit.path["id"][:64])
        except PostroomError as error:
            return visit.go("/approvals/rules", _refusal(error), "bad")
        return visit.go("/approvals/rules", "Revoked. What it let pass before stays sent.")

    async def _page(self, visit: Visit, typed: Mapping[str, str], complaint: str) -> Response:
        _must_be_on(self.approvals)
        listed = ListPage(
            title="Standing rules",
            parts="rules.html",
            find=partial(self._find, typed, complaint),
            status=422 if complaint else 200,
        )
        return await listed.show(visit)

    async def _find(self, typed: Mapping[str, str], complaint: str, visit: Visit, _: ListQuery) -> Found[StandingRule]:
        """What does not answer is not nothing."""
        rules: Sequence[StandingRule] | None = None
        with suppress(PostroomError):
            rules = await self.approvals.rules(visit.principal)
        rows = rules or ()
        places = {rule.id: self._places(rule) for rule in rows}
        return Found(
            rows=rows,
            places=[place for some in places.values() for place in some],
            ids=actors(*(by for rule in rows for by in (rule.created_by, rule.revoked_by))),
            around={
                "is_known": rules is not None,
                "places": places,
                "typed": typed,
                "complaint": complaint,
                "channels": self.channels,
            },
        )

    def _places(self, rule: StandingRule) -> Sequence[Place]:
        """Where the recipient of a rule may be; a rule that names no channel counts on all of them."""
        whom, where = rule.constraints.get("recipient"), rule.constraints.get("channel")
        if whom is None or whom.kind is not ConstraintKind.EXACT:
            return []
        channels = [where.value] if where is not None and where.kind is ConstraintKind.EXACT else self.channels
        return [(channel, whom.value) for channel in channels]


def rule_wish(form: Form, now_us: int) -> RuleRequest | None:
    """For the approval it comes with: the same sender to the same person on the same channel; None for none."""
    return parse_rule_request(_bounds(form, now_us)) if form.get("rule") == "yes" else None


def rule_request(form: Form, now_us: int) -> RuleRequest:
    """A star is a wildcard only where the person says that it is one."""
    constraints = {}
    for name in _CONSTRAINTS:
        if value := form.get(name).strip():
            kind = "pattern" if form.get(f"{name}_kind") == "pattern" else "exact"
            constraints[name] = {"type": kind, "value": value}
    return parse_rule_request({"constraints": constraints, **_bounds(form, now_us)})


def _bounds(form: Form, now_us: int) -> Document:
    wish: Document = {"description": form.get("description").strip()}
    uses, days = form.get("max_uses").strip(), form.get("days").strip()
    if uses.isascii() and uses.isdecimal():
        wish["max_uses"] = int(uses[:9])
    if days.isascii() and days.isdecimal() and 0 < int(days[:9]) <= _MOST_DAYS:
        wish["expires_at"] = to_text(now_us + seconds(int(days[:9]) * _DAY_SECONDS))
    return wish


def approvals_section(
    pages: ApprovalPages, rules: RulePages, may_decide: Callable[[Principal], bool]
) -> ConsoleSection:
    """
    Rules come first: the page of one action would swallow their path.

    Reading what waits is part of deciding on it, so both are for the same people.
    """
    return ConsoleSection(
        name="Approvals",
        group=NavigationGroup.YOURS,
        pages=(
            ConsolePage("/approvals", pages.listed().show, open_to=may_decide),
            ConsolePage("/approvals/rules", rules.show, open_to=may_decide),
            ConsolePage("/approvals/rules", rules.make, "POST", open_to=may_decide),
            ConsolePage("/approvals/rules/{id}/revoke", rules.revoke, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}", pages.one, open_to=may_decide),
            ConsolePage("/approvals/{id}/files/{number}", pages.file, open_to=may_decide),
            ConsolePage("/approvals/{id}/compare", pages.compare, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}/approve", pages.approve, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}/reject", pages.reject, "POST", open_to=may_decide),
        ),
    )


# ---- what an edit takes away and what it adds, word by word ----


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> Sequence[DifferencePiece]:
    """Without the parts that are new it reads as before, without those that are gone as after."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    parts = [
        DifferencePiece("same", "".join(old[:head])),
        *_compared(old[head:old_end], new[head:new_end]),
        DifferencePiece("same", "".join(old[old_end:])),
    ]
    return [part for part in parts if part.text]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferencePiece]:
    """Every word of one may have to be held against every word of the other, so what is too long is shown whole."""
    if len(old) * len(new) > _MOST_COMPARISONS:
        yield from (DifferencePiece("gone", "".join(old)), DifferencePiece("new", "".join(new)))
        return
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, added = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        yield from (
            (DifferencePiece("same", gone),)
            if kind == "equal"
            else (DifferencePiece("gone", gone), DifferencePiece("new", added))
        )
