"""MCP tools with which an assistant finds people, writes to them and reads what they answer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from postroom.connectors.household import Adapter, DecisionModeAnswer, Errand, HouseholdHere, RecipientAnswer
from postroom.intents.acts import Reply
from postroom.intents.bodies import At, InboxAnswer
from postroom.intents.directory import Acting
from postroom.intents.envelope import AssistantCall
from postroom.intents.model import Folder, IntentStatus, ReceiptWord, WaitingReason
from postroom.kernel.acts.declaration import READS, Act, Answer, Call, Hints, Shape, Tool, act, said
from postroom.kernel.acts.reading import made
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import is_uuid
from postroom.kernel.values.principal import PEOPLE, Kind
from postroom.people.contacts import ConfirmContact, ResolveContact
from postroom.people.model import InputMode

_ASSISTANTS: Final = PEOPLE | {Kind.CONNECTOR}
"""People and the assistants that act for them."""

Named = Annotated[str, Field(min_length=1, max_length=255)]
_Id = Annotated[str, Field(max_length=64)]
_Token = Annotated[str, Field(min_length=8, max_length=128)]
_NAME: Final = "As the person said it, in any language."
_SENDS: Final = Hints(destroys=True, open_world=True)
_INPUT_MODE: Final = "`voice` when the person spoke."


class _ForSomebody(Act[Answer]):
    malformed: ClassVar[Code] = Code.SCHEMA_INVALID

    on_behalf_of: Annotated[str, Field(max_length=255)] | None = said("An agent address, if not your own.")

    def sender(self, call: Call[HouseholdHere]) -> str:
        return call.work.intents.agency.sender(call.caller, self.on_behalf_of, "on_behalf_of")

    def acting(self, call: Call[HouseholdHere]) -> Acting:
        return call.work.intents.acting(call.caller, self.on_behalf_of, "on_behalf_of")


# Find the person, and write to them.


@act(by=_ASSISTANTS, tool=Tool("resolve_contact", READS, answers=("decision_mode", "resolution")))
class FindRecipient(_ForSomebody[RecipientAnswer]):
    """
    Find out whom a name means, without sending anything.

    `decision_mode` is `resolved` (certain), `needs_confirmation` (one uncertain match), `needs_disambiguation`
    (several) or `contact_not_found`. For the two in the middle, let the person choose among the candidates by their
    `hint`, never you; then pass the `resolution_token` of the choice to send_message or confirm_recipient.
    """

    name: Named = said(_NAME, ...)
    input_mode: InputMode = said(_INPUT_MODE, InputMode.TEXT)

    async def do(self, call: Call[HouseholdHere]) -> RecipientAnswer:
        asked = made(ResolveContact, owner_agent=self.sender(call), query=self.name, input_mode=self.input_mode)
        return RecipientAnswer.of(await call.work.ask(asked, Errand(call.caller)))


class ConfirmedAnswer(Shape):
    ok: bool = True
    agent_address: str
    match_type: str = "memory"
    confirm_count: int


@act(by=_ASSISTANTS, tool=Tool("confirm_recipient", answers=("ok",)))
class ConfirmRecipient(_ForSomebody[ConfirmedAnswer]):
    """Remember whom the person meant by a name; call it only after the person has chosen among the candidates."""

    name: Named = said(_NAME, ...)
    resolution_token: _Token = said("Of the candidate the person chose.", ...)

    async def do(self, call: Call[HouseholdHere]) -> ConfirmedAnswer:
        asked = made(
            ConfirmContact, owner_agent=self.sender(call), query=self.name, resolution_token=self.resolution_token
        )
        return ConfirmedAnswer.model_validate(await call.work.ask(asked, Errand(call.caller)))


@act(by=_ASSISTANTS, tool=Tool("send_message", _SENDS, answers=("decision_mode", "resolution", "delivery")))
class SendMessage(_ForSomebody[DecisionModeAnswer]):
    """
    Tell or ask somebody something. Give `recipient_name` as the person said it, or `recipient_address` when you know
    it.

    The message goes out only when the recipient is certain (`decision_mode` = `sent`). Otherwise the answer shows
    candidates: ask the person which one is meant, then call again with `confirm_send` = true and the
    `resolution_token` of that candidate. Pass `idempotency_key` when you may repeat the call. get_intent_status takes
    `delivery.intent_id`.
    """

    message: Annotated[str, Field(min_length=1, max_length=2000)] = said("In the person's words.", ...)
    recipient_name: Named | None = said(_NAME)
    recipient_address: Annotated[str, Field(max_length=255)] | None = said("Such as agent://household/owner.")
    more_context: Annotated[str, Field(max_length=5000)] | None = said("Background.")
    deadline_at: Annotated[str, Field(max_length=64)] | None = said("RFC 3339.")
    confirm_send: bool = said("true only after the person has confirmed.", False)
    resolution_token: Annotated[str, Field(max_length=128)] | None = said("Of the candidate the person chose.")
    idempotency_key: _Token | None = said("The same key sends once.")
    macro_id: Annotated[str, Field(max_length=255)] | None = said("A way to pursue an ask.")
    macro_params: dict[str, Any] | None = said("What that way takes.")
    input_mode: InputMode = said(_INPUT_MODE, InputMode.TEXT)

    async def do(self, call: Call[HouseholdHere]) -> DecisionModeAnswer:
        asked = AssistantCall(
            from_agent=self.sender(call),
            to_agent=self.recipient_address,
            recipient_name=self.recipient_name,
            message=self.message,
            context=self.more_context,
            deadline_at=self.deadline_at,
            confirm_send=self.confirm_send,
            resolution_token=self.resolution_token,
            idempotency_key=self.idempotency_key,
            workflow_macro_id=self.macro_id,
            workflow_macro_params=self.macro_params,
            input_mode=self.input_mode,
            connector="mcp",
        )
        clock, mint = call.work.intents.clock, call.work.intents.mint
        adapter = Adapter(household=call.work, errand=Errand(call.caller), clock=clock, mint=mint)
        try:
            return await adapter.adapt(asked)
        except Refused as error:
            raise error.renamed(_argument) from None


_ARGUMENTS: Final = {
    "to_agent": "recipient_address",
    "from_agent": "on_behalf_of",
    "payload.question": "message",
    "payload.context": "more_context",
    "payload.deadline_at": "deadline_at",
    "payload.workflow.macro_id": "macro_id",
    "payload.workflow.params": "macro_params",
}


def _argument(field: str) -> str:
    """A field of the envelope by the argument of send_message it came from."""
    for inside, given in _ARGUMENTS.items():
        if field == inside or field.startswith((f"{inside}.", f"{inside}[")):
            return given + field.removeprefix(inside)
    return field


# What was asked and answered.


class IntentState(Shape):
    """`status` is accepted, running, done or failed; `result` holds the answer once there is one."""

    ok: bool = True
    intent_id: str = Field(validation_alias="id")
    status: ReceiptWord = Field(validation_alias="legacy_status")
    lifecycle_status: IntentStatus = Field(validation_alias="status")
    waiting_reason: WaitingReason | None
    result: dict[str, Any] | None
    updated_at: At = Field(validation_alias="updated_at_us")


@act(by=_ASSISTANTS, tool=Tool("list_inbox", READS, answers=("threads", "next_cursor")))
class ReadThreads(_ForSomebody[InboxAnswer]):
    """What was asked of the person you act for, what that person asked others, and the answers; newest first."""

    status: Folder | None = said("All by default.")
    cursor: _Id | None = said("`next_cursor` of the page before.")
    limit: Annotated[int, Field(ge=1, le=50)] = said("How many.", 20)

    async def do(self, call: Call[HouseholdHere]) -> InboxAnswer:
        agent = self.acting(call).agent
        page = await call.work.intents.threads.page(agent, self.status, _cursor(self.cursor), self.limit)
        return InboxAnswer.of(page, agent)


@act(by=_ASSISTANTS, tool=Tool("reply", _SENDS, answers=("intent_id", "status")))
class AnswerThread(_ForSomebody[IntentState]):
    """Answer a thread of the inbox that was put to the person you act for, in that person's words."""

    thread_id: _Id = said("As the inbox shows it.", ...)
    message: Reply = said("The answer.", ...)

    async def do(self, call: Call[HouseholdHere]) -> IntentState:
        threads = call.work.intents.threads
        return IntentState.model_validate(await threads.reply(self.acting(call), _id(self.thread_id), self.message))


@act(by=_ASSISTANTS, tool=Tool("get_intent_status", READS, answers=("status", "result")))
class FollowMessage(_ForSomebody[IntentState]):
    """What became of a message: accepted, running, done or failed; `result.answer` is what the person answered."""

    intent_id: _Id = said("As send_message answered it.", ...)

    async def do(self, call: Call[HouseholdHere]) -> IntentState:
        threads = call.work.intents.threads
        return IntentState.model_validate(await threads.visible(self.acting(call), _id(self.intent_id)))


def _id(text: str) -> str:
    if not is_uuid(text):
        raise Refused(Code.INTENT_NOT_FOUND, "there is no such intent")
    return text.lower()


def _cursor(text: str | None) -> str | None:
    if text is None:
        return None
    if not is_uuid(text):
        error = "is not the next_cursor of a page before"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("cursor", error, "invalid")])
    return text.lower()


ACTS: Final = (FindRecipient, SendMessage, ConfirmRecipient, ReadThreads, AnswerThread, FollowMessage)
