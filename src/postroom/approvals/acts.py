"""Decide what may be sent: see it as it would leave, agree to it or not, and rules that stand for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from postroom.approvals.card import AttachedFile, ShownFile, attached_files, shown_files
from postroom.approvals.model import Action, ActionStatus, ApprovalEvent, Content, ShownAction, StandingRule
from postroom.approvals.rules import (
    LONGEST_DESCRIPTION,
    LONGEST_REASON,
    MOST_USES,
    RuleRequest,
    ShownLink,
    links_of,
    parse_rule_request,
    rendered,
    revealed_link,
    specificity,
    written,
)
from postroom.kernel.acts.declaration import (
    READS,
    Act,
    Answer,
    Call,
    Command,
    CommandOption,
    Hints,
    HttpRoute,
    Shape,
    Tool,
    act,
    said,
)
from postroom.kernel.acts.reading import Moment, PageCursor, Stripped
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import PostroomError, Refused, error_answer, failure_document
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import PEOPLE

if TYPE_CHECKING:
    from postroom.approvals.approvals import Approvals

    Desk = Call[Approvals]

_TAG: Final = "approvals"
_TOOLS: Final = "tools"  # where a decision was taken, as the card says it
_DECIDES: Final = Hints(destroys=True)
_BY_CODE: Final = {"already_decided": 409, "too_late": 409, "unknown_action": 404}
_ACTION_ID: Final = "As `list_pending_actions` names it."

Id = Annotated[str, Field(min_length=1, max_length=64)]


# -- Answers --


class SentAs(TypedDict):
    delivery_id: str
    status: str


class _Line(TypedDict):
    action_id: str
    status: str
    risk_tier: str
    origin_butler: str
    request_id: str
    channel: str
    intent: str
    recipient: str
    preview: str
    content_hash: str
    requested_at: str
    expires_at: str
    delivery: SentAs


class _Decided(_Line, total=False):
    """What a pending action has not."""

    decided_by: str | None
    decided_at: str | None
    reason: str | None
    rule_id: str | None
    edited: bool


class ActionBody(_Decided):
    attachments: list[AttachedFile]


class HiddenCharacter(TypedDict):
    field: str
    kind: str
    character: str
    position: int


class _Written(TypedDict, total=False):
    """Of Markdown also what the person reads and where each link really leads."""

    format: str
    rendered: str
    links: list[ShownLink]


class WholeActionBody(_Decided, _Written):
    """
    `content` is what would be sent, to the byte; `visible` is the same with nothing hidden.

    Each of `attachments` has the beginning of its `preview`; a picture is shown in the console.
    """

    attachments: list[ShownFile]
    content: dict[str, str | None]
    visible: dict[str, str | None]
    warnings: list[HiddenCharacter]
    intact: bool
    events: list[Document]


class RuleBody(Shape):
    rule_id: str
    active: bool
    constraints: dict[str, dict[str, str]]
    specificity: int
    description: str
    created_by: str
    created_at: str
    created_from: str | None
    expires_at: str | None
    max_uses: int | None
    use_count: int
    revoked_by: str | None
    revoked_at: str | None


class ActionsAnswer(Shape):
    status: str = "ok"
    actions: list[ActionBody]
    next_cursor: str | None


class ActionAnswer(Shape):
    status: str = "ok"
    action: WholeActionBody


class DecisionAnswer(Shape):
    status: str = "ok"
    decision: str
    action: ActionBody


class ApprovedAnswer(TypedDict, total=False):
    """`rule` where one was made with it."""

    status: str
    decision: str
    action: ActionBody
    rule: RuleBody


class RuleAnswer(Shape):
    status: str = "ok"
    rule: RuleBody


class RulesAnswer(Shape):
    status: str = "ok"
    rules: list[RuleBody]


def action_body(action: Action) -> ActionBody:
    """One line of a list: enough to know what it is, not enough to agree to it."""
    return {**_line(action), "attachments": attached_files(action.content)}


def whole_action_body(shown: ShownAction) -> WholeActionBody:
    content = shown.action.content
    return {
        **_line(shown.action),
        **_written(content),
        "attachments": shown_files(shown),
        "content": content.shown,
        "visible": {name: reveal(text) if text else text for name, text in content.shown.items()},
        "warnings": hidden_characters(content),
        "intact": shown.action.intact,
        "events": [_event(one) for one in shown.events],
    }


def _line(action: Action) -> _Decided:
    line: _Decided = {
        "action_id": action.id,
        "status": str(action.status),
        "risk_tier": str(action.risk),
        "origin_butler": action.origin_butler,
        "request_id": action.request_id,
        "channel": action.content.channel,
        "intent": str(action.content.intent),
        "recipient": reveal(action.content.address),
        "preview": reveal(action.content.preview),
        "content_hash": action.content_hash,
        "requested_at": to_text(action.requested_at_us),
        "expires_at": to_text(action.expires_at_us),
        "delivery": {"delivery_id": action.id, "status": str(action.delivery_status)},
    }
    if action.status is not ActionStatus.PENDING:
        line |= {
            "decided_by": action.decided_by,
            "decided_at": _moment(action.decided_at_us),
            "reason": action.reason,
            "rule_id": action.rule_id,
            "edited": action.edited,
        }
    return line


def _written(content: Content) -> _Written:
    if (rich := rendered(content)) is None:
        return {"format": str(content.format)}
    links = [revealed_link(one) for one in links_of(content)]
    return {"format": str(content.format), "rendered": reveal(rich.text), "links": links}


def hidden_characters(content: Content) -> list[HiddenCharacter]:
    return [
        {"field": name, "kind": str(found.kind), "character": found.name, "position": found.position}
        for name, found in content.warnings
    ]


def _event(event: ApprovalEvent) -> Document:
    return {
        "type": str(event.type),
        "actor": event.actor,
        "at": to_text(event.at_us),
        "reason": event.reason,
        "rule_id": event.rule_id,
        **event.metadata,
    }


def rule_body(rule: StandingRule, now_us: int) -> RuleBody:
    return RuleBody(
        rule_id=rule.id,
        active=rule.active(now_us),
        constraints=written(rule.constraints),
        specificity=specificity(rule),
        description=rule.description,
        created_by=rule.created_by,
        created_at=to_text(rule.created_at_us),
        created_from=rule.created_from,
        expires_at=_moment(rule.expires_at_us),
        max_uses=rule.max_uses,
        use_count=rule.use_count,
        revoked_by=rule.revoked_by,
        revoked_at=_moment(rule.revoked_at_us),
    )


def _moment(us: int | None) -> str | None:
    return to_text(us) if us is not None else None


# -- What waits, and the decision about it --

_ACTION: Final = CommandOption(words="An action, as `postroom approvals list` shows it.", metavar="ID")
SHOW: Final = Command("approvals show", ("action_id",), {"action_id": _ACTION})
APPROVE: Final = Command(
    "approvals approve",
    ("action_id",),
    {
        "action_id": _ACTION,
        "create_rule": CommandOption(words="And let this butler write to this person from now on."),
    },
    without=("content_hash", "edits"),  # what was shown is what is sent
    former={"--rule": "create_rule"},
)
REJECT: Final = Command(
    "approvals reject",
    ("action_id",),
    {"action_id": _ACTION, "reason": CommandOption(words="Shown to its sender by notify_status.")},
)


class _Deciding(Act[Answer]):
    """A decision is refused as the messenger's tools refuse; what never came so far, as every route does."""

    @classmethod
    def refused(cls, error: PostroomError) -> Document:
        return error_answer(error)

    @classmethod
    def refused_over_http(cls, error: PostroomError) -> tuple[int, Document]:
        if isinstance(error, Refused):
            return error.code.status, failure_document(error)
        precise = (_BY_CODE.get(one.code) for one in error.fields)
        status = next((one for one in precise if one), 400 if error.code.status == 422 else error.code.status)
        return status, cls.refused(error)


@act(
    by=PEOPLE,
    tool=Tool("list_pending_actions", READS),
    route=HttpRoute("GET /v1/approvals", _TAG, operation="listApprovals"),
)
class ListPendingActions(_Deciding[ActionsAnswer]):
    """What waits for a person's approval, newest first; other statuses show what was decided"""

    status: Literal["pending", "approved", "rejected", "expired", "all"] = said("What became of it.", "pending")
    limit: Annotated[int, Field(ge=1, le=200)] = said("How many.", 50)
    cursor: PageCursor | None = said("`next_cursor` of the page before.")

    async def do(self, call: Desk) -> ActionsAnswer:
        found = await call.work.page(call.caller, status=self.status, cursor=self.cursor, limit=self.limit)
        return ActionsAnswer(actions=[action_body(one) for one in found.actions], next_cursor=found.next_cursor)


@act(
    by=PEOPLE,
    tool=Tool("show_pending_action", READS),
    route=HttpRoute("GET /v1/approvals/{action_id}", _TAG, operation="showApproval"),
    command=SHOW,
)
class ShowPendingAction(_Deciding[ActionAnswer]):
    """Exactly what would be sent, with hidden characters made visible and warnings, its hash and its audit trail"""

    action_id: Id = said(_ACTION_ID, ...)

    async def do(self, call: Desk) -> ActionAnswer:
        return ActionAnswer(action=whole_action_body(await call.work.show(call.caller, self.action_id)))


@act(
    by=PEOPLE,
    tool=Tool("approve_action", _DECIDES),
    route=HttpRoute("POST /v1/approvals/{action_id}/approve", _TAG),
    command=APPROVE,
)
class ApproveAction(_Deciding[ApprovedAnswer]):
    """Send it, once. Name the `content_hash` you were shown: if what would be sent is anything else, nothing is sent"""

    action_id: Id = said(_ACTION_ID, ...)
    content_hash: Annotated[str, Field(max_length=64)] | None = said("Of what you were shown.")
    edits: Document | None = said("Changes message, subject, emoji or recipient first.")
    create_rule: bool | Document = said(
        "Let this butler write to this person on this channel from now on; as an object with constraints, description,"
        " expires_at, max_uses.",
        False,
    )

    async def do(self, call: Desk) -> ApprovedAnswer:
        action, rule = await call.work.approve(
            call.caller,
            self.action_id,
            content_hash=self.content_hash,
            edits=self.edits,
            create_rule=self._rule(),
            via=_TOOLS,
        )
        answer: ApprovedAnswer = {"status": "ok", "decision": "approved", "action": action_body(action)}
        return answer if rule is None else {**answer, "rule": rule_body(rule, call.work.now_us)}

    def _rule(self) -> RuleRequest | None:
        """None, the one that suggests itself, or one with bounds of its own."""
        if isinstance(self.create_rule, bool):
            return RuleRequest() if self.create_rule else None
        return parse_rule_request(self.create_rule, "create_rule")


@act(
    by=PEOPLE,
    tool=Tool("reject_action", _DECIDES),
    route=HttpRoute("POST /v1/approvals/{action_id}/reject", _TAG),
    command=REJECT,
)
class RejectAction(_Deciding[DecisionAnswer]):
    """Never send it; its sender sees the reason when it asks (notify_status)"""

    action_id: Id = said(_ACTION_ID, ...)
    reason: Annotated[Stripped, Field(max_length=LONGEST_REASON)] = said("Shown to its sender.", ...)

    async def do(self, call: Desk) -> DecisionAnswer:
        action = await call.work.reject(call.caller, self.action_id, self.reason, via=_TOOLS)
        return DecisionAnswer(decision="rejected", action=action_body(action))


# -- Standing rules --


@act(by=PEOPLE, tool=Tool("list_approval_rules", READS))
class ListApprovalRules(_Deciding[RulesAnswer]):
    """The standing rules, newest first, with how often each was used and whether it still counts"""

    async def do(self, call: Desk) -> RulesAnswer:
        return RulesAnswer(rules=[rule_body(one, call.work.now_us) for one in await call.work.rules(call.caller)])


@act(by=PEOPLE, tool=Tool("create_approval_rule", _DECIDES))
class CreateApprovalRule(_Deciding[RuleAnswer]):
    """Let messages pass without asking when all constraints hold; a high risk needs one, and an end or a number"""

    constraints: Document = said(
        "By channel, recipient, origin_butler, intent, thread, subject, message or emoji:"
        ' {"type": "exact" | "pattern" | "any", "value": …}.',
        ...,
    )
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] | None = said("What it is for.")
    expires_at: Moment | None = said("RFC 3339 with an offset.")
    max_uses: Annotated[int, Field(ge=1, le=MOST_USES)] | None = said("How many messages it lets pass.")

    async def do(self, call: Desk) -> RuleAnswer:
        rule = await call.work.create_rule(call.caller, parse_rule_request(self.model_dump(exclude_none=True)))
        return RuleAnswer(rule=rule_body(rule, call.work.now_us))


@act(by=PEOPLE, tool=Tool("revoke_approval_rule", _DECIDES))
class RevokeApprovalRule(_Deciding[RuleAnswer]):
    """End a standing rule now; what it already let pass stays sent"""

    rule_id: Id = said("As `list_approval_rules` names it.", ...)

    async def do(self, call: Desk) -> RuleAnswer:
        return RuleAnswer(rule=rule_body(await call.work.revoke_rule(call.caller, self.rule_id), call.work.now_us))


ACTS: Final = (
    ListPendingActions,
    ShowPendingAction,
    ApproveAction,
    RejectAction,
    ListApprovalRules,
    CreateApprovalRule,
    RevokeApprovalRule,
)
