"""Every other service, through the Apprise library: sent once, and honest about having no receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from postroom.channels.apprise.building import ApprisePart, Departure, address, build
from postroom.channels.apprise.kind import APPRISE, AppriseAccount
from postroom.channels.shared import check_files
from postroom.kernel.http.call import private_refusal
from postroom.kernel.values.errors import DeliveryTimeout, OutcomeUncertain, PostroomError, TargetUnavailable
from postroom.message.channel import Capabilities
from postroom.message.delivery import Message, Receipt
from postroom.settings.accounts import Surroundings

if TYPE_CHECKING:
    from postroom.channels.apprise.service import OneService

_NO_RECEIPT: Final = Receipt("apprise:none")
_MISSING: Final = "a channel of the kind apprise needs the extra: pip install 'postroom[apprise]'"


class AppriseService:
    address = staticmethod(address)
    capabilities: Capabilities = APPRISE

    def __init__(self, name: str, url: str, allow_private: bool = False) -> None:
        self.name = name
        self._service = _service(url.strip(), allow_private=allow_private)
        self._public_only = not allow_private
        self.capabilities = replace(
            APPRISE, max_units=self._service.limits.body, spacing_seconds=self._service.spacing_seconds
        )

    @classmethod
    def of(cls, name: str, options: AppriseAccount, given: Surroundings) -> AppriseService:
        return cls(name, options.url.reveal(), options.allow_private)

    def __repr__(self) -> str:
        return f"AppriseService(name={self.name!r}, service={self._service.name!r}, url=***)"

    def prepare(self, message: Message) -> Sequence[ApprisePart]:
        check_files(message, self.capabilities, None)
        return build(message, self._service.limits)

    async def send(self, part: ApprisePart, timeout_seconds: float) -> Receipt:
        departure = Departure(public_only=self._public_only)
        sending = self._service.begin(part, departure, timeout_seconds)
        try:
            await asyncio.wait({asyncio.wrap_future(sending)}, timeout=timeout_seconds)
        finally:
            in_time = sending.done()
            sending.cancel()
            departure.over = True
        outcome = self._outcome(departure, in_time=in_time, begun=not sending.cancelled())
        if isinstance(outcome, Receipt):
            return outcome
        raise outcome

    async def close(self) -> None:
        """Nothing stays open between two messages."""

    def _outcome(self, departure: Departure, *, in_time: bool, begun: bool) -> Receipt | PostroomError:
        """The library says only yes or no, and a no tells nothing of what has left before it."""
        service = f"{self._service.name} (Apprise)"
        if in_time and departure.worked:
            return _NO_RECEIPT
        if departure.said_nothing and departure.led_home:
            return private_refusal(service)
        if not begun or (departure.said_nothing and not in_time):
            return DeliveryTimeout(f"{service} could not be reached before the deadline")
        if departure.said_nothing:
            return TargetUnavailable(f"{service} could not be reached")
        return OutcomeUncertain(f"{service} {'failed' if in_time else 'did not answer before the deadline'}")


def _service(url: str, *, allow_private: bool) -> OneService:
    try:
        from postroom.channels.apprise.service import OneService
    except ImportError:
        raise ValueError(_MISSING) from None
    return OneService(url, allow_private=allow_private)
