"""What waits for a person's word: seen exactly as it would be sent, then approved, changed or rejected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.approval import ActionStatus
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.file_contents import FileContents
from postroom.domain.principal import Principal
from postroom.doors.console.attached_file import attached_file
from postroom.doors.console.difference import difference
from postroom.doors.console.names import Place, actors
from postroom.doors.console.ports import Decisions, ShownActions
from postroom.doors.console.rule_form import rule_wish
from postroom.doors.console.visit import Visit

PAGE_SIZE: Final = 20
EDITABLE: Final = ("recipient", "subject", "message", "emoji")
IN_PLACE: Final = 5  # so many stand on other pages
_BACK: Final = {"today": "/"}
_CHANGED_NOTHING: Final = "Your decision changed nothing."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPages:
    """`is_on` False: this household sends without asking. `letters` are the channels whose messages have a subject."""

    decisions: Decisions
    is_on: bool
    letters: Collection[str]
    files: FileContents

    async def show(self, visit: Visit) -> Response:
        typed = visit.query.get("status", "")
        status = typed if typed in [*ActionStatus, "all"] else str(ActionStatus.PENDING)
        cursor = visit.query.get("cursor", "")[:64]
        answer = await self._listed(visit.principal, status, cursor or None) if self.is_on else None
        return visit.show(
            "approvals.html",
            is_on=self.is_on,
            answer=answer,
            names=await visit.names(*_people(answer.actions if answer else ())),
            chosen=status,
            statuses=[*(str(one) for one in ActionStatus), "all"],
            is_first=not cursor,
            same_page=f"{visit.request.url.path}?{visit.request.url.query}",
        )

    async def here(self, visit: Visit, most: int = IN_PLACE) -> Sequence[Mapping[str, Any]]:
        """What waits, whole, for a page about other things as well. Raises one of our errors."""
        if not self.is_on:
            return ()
        listed = await self.decisions.page(visit.principal, status=str(ActionStatus.PENDING), cursor=None, limit=most)
        found = [await self.decisions.show(visit.principal, one["action_id"]) for one in listed.actions]
        return [one for one in found if one["status"] == ActionStatus.PENDING]

    async def one(self, visit: Visit) -> Response:
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        return await self._page(visit, action)

    async def file(self, visit: Visit) -> Response:
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        return await attached_file(self.files, action["attachments"], visit.path["number"])

    async def compare(self, visit: Visit) -> Response:
        """Nothing is done yet: this shows what the edit makes of the message."""
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        typed = _typed(visit, action["content"])
        if not typed:
            return visit.go(f"/approvals/{action['action_id']}", "You changed nothing.", "bad")
        changes = {name: difference(action["content"][name] or "", text) for name, text in typed.items()}
        after = {**action["content"], **typed}
        names = await visit.names([(after["channel"], after["recipient"])])
        return visit.show("approval_edit.html", action=action, typed=typed, changes=changes, after=after, names=names)

    async def approve(self, visit: Visit) -> Response:
        self._must_be_on()
        action_id = visit.path["id"]
        edits = {name: _text(visit, f"edit_{name}") for name in EDITABLE if visit.form.all(f"edit_{name}")}
        try:
            rule = await self.decisions.approve(
                visit.principal,
                action_id,
                content_hash=visit.form.get("content_hash")[:64],
                edits=edits or None,
                create_rule=rule_wish(visit.form, visit.now_us),
            )
        except PostroomError as error:
            if edits and _code(error) not in _TOO_LATE:
                return await self._edit_again(visit, edits, refusal(error))
            return visit.go(_back(visit, f"/approvals/{action_id}"), refusal(error), "bad")
        return visit.go(_back(visit, "/approvals"), _approved(rule))

    async def reject(self, visit: Visit) -> Response:
        self._must_be_on()
        action_id, reason = visit.path["id"], _text(visit, "reason").strip()
        if not reason:
            return visit.go(f"/approvals/{action_id}", "Say why: the sender sees the reason.", "bad")
        try:
            await self.decisions.reject(visit.principal, action_id, reason)
        except PostroomError as error:
            return visit.go(_back(visit, f"/approvals/{action_id}"), refusal(error), "bad")
        return visit.go(_back(visit, "/approvals"), "Rejected. It will not be sent, and its sender sees why.")

    async def _edit_again(self, visit: Visit, typed: Mapping[str, str], complaint: str) -> Response:
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        return await self._page(visit, action, typed, complaint)

    async def _page(
        self, visit: Visit, action: Mapping[str, Any], typed: Mapping[str, str] | None = None, complaint: str = ""
    ) -> Response:
        places, ids = _people([action], *(event["actor"] for event in action["events"]))
        return visit.show(
            "approval.html",
            status=422 if complaint else 200,
            action=action,
            letters=self.letters,
            typed=typed or {},
            complaint=complaint,
            names=await visit.names(places, ids),
        )

    async def _listed(self, who: Principal, status: str, cursor: str | None) -> ShownActions | None:
        """None when there is no answer, or only a refusal."""
        try:
            return await self.decisions.page(who, status=status, cursor=cursor, limit=PAGE_SIZE)
        except PostroomError:
            return None

    async def _action(self, visit: Visit) -> Mapping[str, Any] | Response:
        """The action, or where to go when it cannot be shown."""
        self._must_be_on()
        try:
            return await self.decisions.show(visit.principal, visit.path["id"][:64])
        except PostroomError as error:
            if _code(error) == "unknown_action":
                raise HTTPException(404) from None
            return visit.go("/approvals", f"It cannot be shown just now: {error.message}.", "bad")

    def _must_be_on(self) -> None:
        if not self.is_on:
            raise HTTPException(404)


_TOO_LATE: Final = frozenset({"already_decided", "too_late"})


def refusal(error: PostroomError) -> str:
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


def _approved(rule: Mapping[str, Any] | None) -> str:
    said = "Approved. It is on its way."
    if rule is not None:
        uses = rule["max_uses"]
        return f"{said} A rule was made{f' for {uses} more' if uses else ''}."
    return said


def _people(actions: Sequence[Mapping[str, Any]], *more: str) -> tuple[list[Place], list[str]]:
    """Those who are written to, and those who decided."""
    places = [(str(one["channel"]), str(one["recipient"])) for one in actions]
    return places, actors(*(one.get("decided_by") for one in actions), *more)


def _back(visit: Visit, otherwise: str) -> str:
    """Where the person decided, so that the next one is before them."""
    return _BACK.get(visit.form.get("back"), otherwise)


def _code(error: PostroomError) -> str:
    return error.fields[0].code if isinstance(error, ValidationError) and error.fields else ""


def _typed(visit: Visit, content: Mapping[str, str | None]) -> dict[str, str]:
    """Only what differs: a browser may end lines differently without anybody having changed them."""
    texts = {name: _text(visit, name) for name in EDITABLE if visit.form.all(name)}
    return {name: text for name, text in texts.items() if text != _unix(content[name] or "")}


def _text(visit: Visit, name: str) -> str:
    return _unix(visit.form.get(name))


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")
