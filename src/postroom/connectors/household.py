"""What an assistant passed on becomes an intent, in a household that is in this process or reached over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import aiohttp
from pydantic import Field
from pydantic import ValidationError as Invalid

from postroom.intents.acts import SubmitIntent
from postroom.intents.bodies import SubmitAnswer
from postroom.intents.desk import IntentDesk
from postroom.intents.envelope import AssistantCall, build_envelope
from postroom.intents.model import ReceiptWord
from postroom.kernel.acts.calling import request_of
from postroom.kernel.acts.declaration import Shape
from postroom.kernel.acts.reading import made
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import HEADER, Principal, checked_address
from postroom.people.contacts import CandidateBody
from postroom.people.model import ConfirmSource, DecisionMode, InputMode, MatchType, Resolution, read_resolution
from postroom.people.names.resolve import Confirmation, Confirmer, Resolver, explicit

# What an adapter answers.


class ResolutionBody(Shape):
    resolved: bool
    matched_alias: str | None
    match_type: MatchType | None
    agent_address: str | None
    score: float | None
    query_normalized: str
    why: str
    candidates: list[CandidateBody]
    resolution_token: str | None = Field(description="Give it back with confirm_send once the person has agreed.")
    expires_at: str | None


class DeliveryBody(Shape):
    submitted: bool = True
    via: Literal["gateway"] = "gateway"
    intent_id: str
    status: ReceiptWord
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
    def of(cls, mode: DecisionMode, resolution: Resolution, **more: Any) -> Self:
        return cls(decision_mode=mode, resolution=ResolutionBody(**resolution.document()), **more)


class DecisionModeAnswer(RecipientAnswer):
    delivery: DeliveryBody | None = None
    confirmation: ConfirmationBody | None = Field(None, description="Of a name that was sent to with confirm_send.")


class AdaptAnswer(DecisionModeAnswer):
    envelope: dict[str, Any] | None = None


# Find the recipient, decide, send.


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    household: Direct | CallerClient
    clock: Clock
    mint: Callable[[int], str]
    as_at_first: bool = False  # shows what the receipt says, so that the same call again gets the same answer

    async def adapt(self, call: AssistantCall) -> AdaptAnswer:
        resolution = await self._recipient(call)
        chosen = resolution.chosen
        if chosen is None or call.resolve_only:
            return AdaptAnswer.of(resolution.decision_mode, resolution)
        now = self.clock.now_us()
        correlation_id = self.mint(now)

        def envelope_of(intent_id: str, created_at: str) -> dict[str, Any]:
            to = chosen.agent_address
            return build_envelope(call, to, intent_id=intent_id, correlation_id=correlation_id, created_at=created_at)

        envelope = envelope_of(self.mint(now), to_text(now))
        receipt = await self.household.submit(made(SubmitIntent, **envelope))
        if self.as_at_first:
            envelope = envelope_of(receipt.intent_id, receipt.created_at)
        return AdaptAnswer.of(
            DecisionMode.SENT,
            resolution,
            envelope=envelope,
            delivery=DeliveryBody(
                intent_id=receipt.intent_id,
                status=receipt.legacy_status,
                lifecycle_status=str(receipt.lifecycle_status),
                created_at=receipt.created_at,
            ),
            confirmation=await self._remember(call, resolution),
        )

    async def _recipient(self, call: AssistantCall) -> Resolution:
        token = call.resolution_token if call.confirm_send and not call.resolve_only else None
        if call.to_agent is not None and (token is None or call.recipient_name is None):
            return explicit(checked_address(call.to_agent, "to_agent"))
        if call.recipient_name is None:
            error = "name the recipient, or give its agent address"
            raise Refused(
                Code.RECIPIENT_REQUIRED, error, fields=[FieldError("recipient_name", error, "recipient_required")]
            )
        if token is not None:
            return await self._confirmed(call, call.recipient_name, token)
        return await self.household.resolve(call.from_agent, call.recipient_name, call.input_mode)

    async def _confirmed(self, call: AssistantCall, name: str, token: str) -> Resolution:
        """
        The choice is written down and then looked up like any other, so that a
        contact that moves in between is noticed. A token that does not count
        leaves the call what it is without one.
        """
        address = checked_address(call.to_agent, "to_agent") if call.to_agent is not None else None
        try:
            await self.household.confirm(call.from_agent, name, resolution_token=token, agent_address=address)
        except Refused as error:
            if error.code is not Code.RESOLUTION_EXPIRED:
                raise
            if address is not None:
                return explicit(address)
        return await self.household.resolve(call.from_agent, name, call.input_mode)

    async def _remember(self, call: AssistantCall, resolution: Resolution) -> ConfirmationBody | None:
        """A confirmed send to somebody certain is remembered; where it cannot be, the message has gone all the same."""
        chosen = resolution.chosen
        if not call.confirm_send or call.recipient_name is None or chosen is None:
            return None
        if resolution.match_type is MatchType.MEMORY:
            return ConfirmationBody(remembered=True, why=None)
        try:
            await self.household.confirm(
                call.from_agent, call.recipient_name, resolution_token=None, agent_address=chosen.agent_address
            )
        except Refused as error:
            return ConfirmationBody(remembered=False, why=error.message)
        return ConfirmationBody(remembered=True, why=None)


# In this process, as one principal.


@dataclass(frozen=True, slots=True)
class Direct:
    gateway: IntentDesk
    resolver: Resolver
    confirmer: Confirmer
    principal: Principal
    as_at_first: bool = False

    async def resolve(self, owner_agent: str, query: str, input_mode: InputMode) -> Resolution:
        return await self.resolver.resolve(owner_agent, query, input_mode=input_mode)

    async def confirm(
        self, owner_agent: str, query: str, *, resolution_token: str | None, agent_address: str | None
    ) -> None:
        asked = Confirmation(
            owner_agent=owner_agent,
            query=query,
            resolution_token=resolution_token,
            agent_address=agent_address,
            source=ConfirmSource.CONFIRM_SEND,
        )
        await self.confirmer.confirm(asked, by_person=self.principal.is_person)

    async def submit(self, asked: SubmitIntent) -> SubmitAnswer:
        intent = await self.gateway.submit(self.principal, asked, asked.idempotency_key)
        return SubmitAnswer.of(intent, as_at_first=self.as_at_first)


@dataclass(frozen=True, slots=True)
class DirectHousehold:
    """The household of an adapter that runs in its process: the same steps, and no call to our own port."""

    gateway: IntentDesk
    resolver: Resolver
    confirmer: Confirmer

    def under(self, caller: Principal, token: str, *, key: str | None = None) -> Direct:
        """The guard has looked at the token; the key stands in the envelope, and its answer is the first one."""
        return Direct(self.gateway, self.resolver, self.confirmer, caller, as_at_first=key is not None)

    async def close(self) -> None:
        """Nothing was opened."""


# Over HTTP, under the token of whoever called the adapter.

_TIMEOUT: Final = aiohttp.ClientTimeout(total=30.0, sock_connect=3.0)
_UNSENT: Final = "the household cannot be reached; nothing was sent"
_MAYBE_SENT: Final = (
    "the household did not answer, so the message may have been sent; "
    "repeat the call with the same idempotency_key, which sends once"
)


class HouseholdClient:
    """A household in another process: shared connections; `under` gives a view for one caller."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def under(self, caller: Principal, token: str, *, key: str | None = None) -> CallerClient:
        """The household looks at the token itself; with the caller's key, a call again is answered as at first."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        return CallerClient(self._session, self._base_url, token, key)


class CallerClient:
    def __init__(self, session: aiohttp.ClientSession, base_url: str, token: str, key: str | None) -> None:
        self._session = session
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._key = {HEADER: key} if key else {}

    async def resolve(self, owner_agent: str, query: str, input_mode: InputMode) -> Resolution:
        body = {"owner_agent": owner_agent, "query": query, "input_mode": str(input_mode)}
        answer = await self._post("/contacts/resolve", body)
        try:
            return read_resolution(answer)
        except (KeyError, TypeError, ValueError):
            raise Refused(Code.UPSTREAM_UNAVAILABLE, "the registry's answer could not be read") from None

    async def confirm(
        self, owner_agent: str, query: str, *, resolution_token: str | None, agent_address: str | None
    ) -> None:
        body = {
            "owner_agent": owner_agent,
            "query": query,
            "resolution_token": resolution_token,
            "agent_address": agent_address,
            "source": "confirm_send",
        }
        await self._post("/contacts/confirm", {name: value for name, value in body.items() if value is not None})

    async def submit(self, asked: SubmitIntent) -> SubmitAnswer:
        _, path, body = request_of(asked)
        answer = await self._post(path, body or {}, if_lost=_MAYBE_SENT, more_headers=self._key)
        try:
            return SubmitAnswer.model_validate(answer)
        except Invalid:
            raise Refused(Code.UPSTREAM_UNAVAILABLE, _MAYBE_SENT) from None

    async def _post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        if_lost: str = _UNSENT,
        more_headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """`if_lost` is what is known when the request left and no answer of the household's came back."""
        headers = {**self._headers, **(more_headers or {})}
        try:
            async with self._session.post(
                f"{self._base_url}{path}", json=dict(body), headers=headers, allow_redirects=False
            ) as response:
                answer = await response.json()
                status = response.status
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise Refused(Code.UPSTREAM_UNAVAILABLE, _UNSENT) from None
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise Refused(Code.UPSTREAM_UNAVAILABLE, if_lost) from None
        if isinstance(answer, dict) and 200 <= status < 300 and answer.get("ok") is True:
            return answer
        raise _refusal(status, answer, if_lost)


def _refusal(status: int, answer: Any, if_lost: str) -> Refused:
    """The household's own words and code, when it gave any."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        code = {401: Code.AUTH_FAILED, 403: Code.POLICY_DENIED}.get(status, Code.UPSTREAM_UNAVAILABLE)
        return Refused(code, if_lost if code is Code.UPSTREAM_UNAVAILABLE else "the household refused the token")
    try:
        code = Code(str(error.get("code")))
    except ValueError:
        code = Code.UPSTREAM_UNAVAILABLE
    fields = [
        FieldError(str(item.get("field")), str(item.get("error")), str(item.get("code")))
        for item in error.get("fields", [])
        if isinstance(item, dict)
    ]
    return Refused(code, str(error.get("message", "")), fields=fields)


HouseholdAt = DirectHousehold | HouseholdClient
