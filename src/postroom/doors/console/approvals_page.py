"""What waits for a person's word: seen exactly as it would be sent, then approved, changed or rejected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.approval import ActionStatus
from postroom.domain.errors import PostroomError
from postroom.domain.principal import Principal
from postroom.doors.console.asking import asked
from postroom.doors.console.difference import difference
from postroom.doors.console.ports import Tools
from postroom.doors.console.rule_form import rule_wish
from postroom.doors.console.visit import Visit

PAGE_SIZE: Final = 20
EDITABLE: Final = ("recipient", "subject", "message", "emoji")
_CHANGED_NOTHING: Final = "Your decision changed nothing."

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPages:
    """`is_on` False: this household sends without asking. `letters` are the channels whose messages have a subject."""

    tools: Tools
    is_on: bool
    letters: Collection[str]

    async def show(self, visit: Visit) -> Response:
        typed = visit.query.get("status", "")
        status = typed if typed in [*ActionStatus, "all"] else str(ActionStatus.PENDING)
        wanted = {"status": status, "limit": PAGE_SIZE}
        if cursor := visit.query.get("cursor", "")[:64]:
            wanted["cursor"] = cursor
        answer = await asked(self.tools, visit.principal, "list_pending_actions", wanted) if self.is_on else None
        return visit.show(
            "approvals.html",
            is_on=self.is_on,
            answer=answer,
            chosen=status,
            statuses=[*(str(one) for one in ActionStatus), "all"],
            is_first=not cursor,
            same_page=f"{visit.request.url.path}?{visit.request.url.query}",
        )

    async def one(self, visit: Visit) -> Response:
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        return visit.show("approval.html", action=action, letters=self.letters, typed={}, complaint="")

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
        return visit.show("approval_edit.html", action=action, typed=typed, changes=changes, after=after)

    async def approve(self, visit: Visit) -> Response:
        action_id, rule = visit.path["id"], rule_wish(visit.form, visit.now_us)
        edits = {name: _text(visit, f"edit_{name}") for name in EDITABLE if visit.form.all(f"edit_{name}")}
        decision = {"action_id": action_id, "content_hash": visit.form.get("content_hash")[:64], "create_rule": rule}
        answer = await self._done(visit, "approve_action", decision | ({"edits": edits} if edits else {}))
        if answer["status"] == "ok":
            return visit.go("/approvals", _approved(answer))
        if edits and _code(answer) not in _TOO_LATE:
            return await self._edit_again(visit, edits, refusal(answer))
        return visit.go(f"/approvals/{action_id}", refusal(answer), "bad")

    async def reject(self, visit: Visit) -> Response:
        action_id, reason = visit.path["id"], _text(visit, "reason").strip()
        if not reason:
            return visit.go(f"/approvals/{action_id}", "Say why: the sender sees the reason.", "bad")
        answer = await self._done(visit, "reject_action", {"action_id": action_id, "reason": reason})
        if answer["status"] == "ok":
            return visit.go("/approvals", "Rejected. It will not be sent, and its sender sees why.")
        return visit.go(f"/approvals/{action_id}", refusal(answer), "bad")

    async def _edit_again(self, visit: Visit, typed: Mapping[str, str], complaint: str) -> Response:
        action = await self._action(visit)
        if isinstance(action, Response):
            return action
        return visit.show(
            "approval.html", status=422, action=action, letters=self.letters, typed=typed, complaint=complaint
        )

    async def _action(self, visit: Visit) -> dict[str, Any] | Response:
        """The action, or where to go when it cannot be shown."""
        answer = await self._done(visit, "show_pending_action", {"action_id": visit.path["id"][:64]})
        if _code(answer) == "unknown_action":
            raise HTTPException(404)
        if answer["status"] != "ok":
            return visit.go("/approvals", f"It cannot be shown just now: {answer['error']['message']}.", "bad")
        action: dict[str, Any] = answer["action"]
        return action

    async def _done(self, visit: Visit, tool: str, arguments: Mapping[str, Any]) -> Answer:
        if not self.is_on:
            raise HTTPException(404)
        return await called(self.tools, visit.principal, tool, arguments)


async def called(tools: Tools, who: Principal, tool: str, arguments: Mapping[str, Any]) -> Answer:
    """What the tool answered; whoever could not be asked has refused as well."""
    try:
        return await tools.call(who, tool, arguments)
    except PostroomError as error:
        return {"status": "error", "error": {"message": error.message}}


_TOO_LATE: Final = frozenset({"already_decided", "too_late"})


def refusal(answer: Answer) -> str:
    """In words for the person who just decided, who wants to know what became of it."""
    error = answer["error"]
    fields = error.get("fields") or [{"error": error["message"], "code": ""}]
    match fields[0]["code"]:
        case "already_decided":
            return f"Too late: this {fields[0]['error']}. {_CHANGED_NOTHING}"
        case "too_late":
            said = str(fields[0]["error"])
            return f"{said[:1].upper()}{said[1:]}. {_CHANGED_NOTHING}"
        case "hash_mismatch":
            return "What would be sent is not what you were shown, so nothing was sent. Look again."
        case "content_changed":
            return "What lies in the database is not what was held back, so nothing was sent."
        case _:
            return f"Nothing was done: {error['message']}"


def _approved(answer: Answer) -> str:
    said = "Approved. It is on its way."
    if rule := answer.get("rule"):
        uses = rule["max_uses"]
        return f"{said} A rule was made{f' for {uses} more' if uses else ''}."
    return said


def _code(answer: Answer) -> str:
    fields = answer.get("error", {}).get("fields") or [{}]
    return str(fields[0].get("code", ""))


def _typed(visit: Visit, content: Mapping[str, str | None]) -> dict[str, str]:
    """Only what differs: a browser may end lines differently without anybody having changed them."""
    texts = {name: _text(visit, name) for name in EDITABLE if visit.form.all(name)}
    return {name: text for name, text in texts.items() if text != _unix(content[name] or "")}


def _text(visit: Visit, name: str) -> str:
    return _unix(visit.form.get(name))


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")
