"""What an assistant passed on becomes an intent, in a household that is in this process or reached over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Self

from pydantic import Field

from postroom.intents.acts import SubmitIntent
from postroom.intents.envelope import AssistantCall, build_envelope
from postroom.intents.gateway import IntentDesk
from postroom.intents.model import ReceiptWord
from postroom.kernel.acts.declaration import Act, Answer, Call, Shape
from postroom.kernel.acts.reading import made
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal, checked_address
from postroom.people.contacts import ConfirmContact, ResolutionBody, ResolveAnswer, ResolveContact
from postroom.people.desk import PeopleDesk
from postroom.people.model import ConfirmSource, DecisionMode, MatchType
from postroom.people.names.resolve import explicit
from postroom.settings.reach import HouseholdClient, NoAnswer

# What an adapter answers.


class DeliveryBody(Shape):
    submitted: bool = True
    via: Literal["gateway"] = "gateway"
    intent_id: str
    status: ReceiptWord = Field(validation_alias="legacy_status")
    lifecycle_status: str
    created_at: str


class ConfirmationBody(Shape):
    remembered: bool
    why: str | None = Field(description="Why the name will not be known the next time.")


class RecipientAnswer(Shape):
    ok: bool = True
    decision_mode: DecisionMode
    resolution: ResolutionBody

    @classmethod
    def of(cls, found: ResolveAnswer, **more: Any) -> Self:
        return cls.model_validate({"decision_mode": found.decision_mode, "resolution": found, **more})


class DecisionModeAnswer(RecipientAnswer):
    delivery: DeliveryBody | None = None
    confirmation: ConfirmationBody | None = Field(None, description="Of a name that was sent to with confirm_send.")


class AdaptAnswer(DecisionModeAnswer):
    envelope: dict[str, Any] | None = None


# Find the recipient, decide, send.


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    household: HouseholdAt
    errand: Errand
    clock: Clock
    mint: Callable[[int], str]
    as_at_first: bool = False  # shows what the receipt says, so that the same call again gets the same answer

    async def adapt(self, call: AssistantCall) -> AdaptAnswer:
        found = await self._recipient(call)
        to = found.agent_address
        if to is None or call.resolve_only:
            return AdaptAnswer.of(found)
        now = self.clock.now_us()
        written = partial(build_envelope, call, to, correlation_id=self.mint(now))
        envelope = written(intent_id=self.mint(now), created_at=to_text(now))
        receipt = await self.household.ask(made(SubmitIntent, **envelope.document()), self.errand)
        if self.as_at_first:
            envelope = written(intent_id=receipt.intent_id, created_at=receipt.created_at)
        return AdaptAnswer.of(
            found,
            decision_mode=DecisionMode.SENT,
            envelope=envelope.document(),
            delivery=DeliveryBody.model_validate(receipt),
            confirmation=await self._remember(call, found),
        )

    async def _recipient(self, call: AssistantCall) -> ResolveAnswer:
        token = call.resolution_token if call.confirm_send and not call.resolve_only else None
        if call.to_agent is not None and (token is None or call.recipient_name is None):
            return ResolveAnswer.model_validate(explicit(checked_address(call.to_agent, "to_agent")))
        if call.recipient_name is None:
            error = "name the recipient, or give its agent address"
            raise Refused(
                Code.RECIPIENT_REQUIRED, error, fields=[FieldError("recipient_name", error, "recipient_required")]
            )
        if token is not None:
            return await self._confirmed(call, token)
        return await self._resolved(call)

    async def _resolved(self, call: AssistantCall) -> ResolveAnswer:
        asked = made(ResolveContact, owner_agent=call.from_agent, query=call.recipient_name, input_mode=call.input_mode)
        return await self.household.ask(asked, self.errand)

    async def _confirmed(self, call: AssistantCall, token: str) -> ResolveAnswer:
        """
        The choice is written down and then looked up like any other, so that a
        contact that moves in between is noticed. A token that does not count
        leaves the call what it is without one.
        """
        address = checked_address(call.to_agent, "to_agent") if call.to_agent is not None else None
        try:
            await self._confirm(call, resolution_token=token, agent_address=address)
        except Refused as error:
            if error.code is not Code.RESOLUTION_EXPIRED:
                raise
            if address is not None:
                return ResolveAnswer.model_validate(explicit(address))
        return await self._resolved(call)

    async def _remember(self, call: AssistantCall, found: ResolveAnswer) -> ConfirmationBody | None:
        """A confirmed send to somebody certain is remembered; where it cannot be, the message has gone all the same."""
        if not call.confirm_send or call.recipient_name is None:
            return None
        if found.match_type is MatchType.MEMORY:
            return ConfirmationBody(remembered=True, why=None)
        try:
            await self._confirm(call, agent_address=found.agent_address)
        except Refused as error:
            return ConfirmationBody(remembered=False, why=error.message)
        return ConfirmationBody(remembered=True, why=None)

    async def _confirm(self, call: AssistantCall, **chosen: str | None) -> None:
        asked = made(
            ConfirmContact,
            owner_agent=call.from_agent,
            query=call.recipient_name,
            source=ConfirmSource.CONFIRM_SEND,
            **chosen,
        )
        await self.household.ask(asked, self.errand)


# Where the household is: in this process the same acts are done, with no call to our own port.


@dataclass(frozen=True, slots=True)
class Errand:
    """
    For whom an adapter asks: a principal whose token the guard has looked at, and who has it looked at again elsewhere.

    With the caller's `key`, a call again is answered as at first.
    """

    caller: Principal
    token: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdHere:
    intents: IntentDesk
    people: PeopleDesk

    async def ask(self, one: Act[Answer], errand: Errand) -> Answer:
        work: Any = self.intents if isinstance(one, SubmitIntent) else self.people
        return await one.do(Call(work=work, caller=errand.caller, key=errand.key))

    async def close(self) -> None:
        """Nothing was opened."""


_UNSENT: Final = "the household cannot be reached; nothing was sent"
_MAYBE_SENT: Final = (
    "the household did not answer, so the message may have been sent; "
    "repeat the call with the same idempotency_key, which sends once"
)


@dataclass(frozen=True, slots=True)
class HouseholdElsewhere:
    """Over HTTP, under the token of whoever called the adapter."""

    client: HouseholdClient

    async def ask(self, one: Act[Answer], errand: Errand) -> Answer:
        sends = isinstance(one, SubmitIntent)
        try:
            return await self.client.ask(one, errand.token, errand.key if sends else None)
        except NoAnswer as error:
            words = _MAYBE_SENT if sends and error.has_left else _UNSENT
            raise Refused(Code.UPSTREAM_UNAVAILABLE, words) from None

    async def close(self) -> None:
        await self.client.close()


HouseholdAt = HouseholdHere | HouseholdElsewhere
