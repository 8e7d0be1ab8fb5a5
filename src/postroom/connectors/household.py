"""A household as an adapter reaches it for one caller: in this process, or over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from postroom.intents.envelope import first_receipt, receipt
from postroom.intents.routes import GatewayParts, submit
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.principal import HEADER, Principal
from postroom.people.model import ConfirmSource, InputMode, Resolution, read_resolution
from postroom.people.names.resolve import Confirmation, Confirmer, Resolver

# In this process, as one principal.


@dataclass(frozen=True, slots=True)
class Direct:
    gateway: GatewayParts
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

    async def submit(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        intent = await submit(self.gateway, self.principal, envelope)
        return first_receipt(intent) if self.as_at_first else receipt(intent)


@dataclass(frozen=True, slots=True)
class DirectHousehold:
    """The household of an adapter that runs in its process: the same steps, and no call to our own port."""

    gateway: GatewayParts
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

    async def submit(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        answer = await self._post("/v1/intents", envelope, if_lost=_MAYBE_SENT, more_headers=self._key)
        told = {name: answer[name] for name in ("intent_id", "status", "lifecycle_status", "created_at")}
        return {**told, "status": answer.get("legacy_status", answer["status"])}

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
