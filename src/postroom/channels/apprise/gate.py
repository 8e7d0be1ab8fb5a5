"""What a message may connect to while a library sends it, asked of Python itself and not of the library."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from postroom.kernel.http.public_address import PrivateAddress, is_public

_here = threading.local()


@dataclass(slots=True, kw_only=True)
class Departure:
    """One message on its way, in the thread that sends it; `over` is set by the one that waits."""

    public_only: bool
    over: bool = False
    """From now on nothing is connected to."""
    looked_up: bool = False
    connected: bool = False
    """Or about to be: what comes later may have left."""
    led_home: bool = False
    """A connection was refused because its address is private."""
    worked: bool = False

    @property
    def said_nothing(self) -> bool:
        """It asked where to go and got nowhere. Without a question nothing is known: a library may have other ways."""
        return (self.looked_up or self.led_home) and not self.connected

    def begin(self) -> None:
        """In this thread, until it ends."""
        _install()
        _here.departure = self

    def judge(self, address: object) -> None:
        if self.public_only and not (isinstance(address, tuple) and is_public(str(address[0]))):
            self.led_home = True
            raise PrivateAddress
        self.connected = True  # before it is asked whether it is over, so that one of the two sides knows
        if self.over:
            raise TimeoutError("the deadline has passed")


@cache
def _install() -> None:
    """Once for the process, which cannot take it back; threads without a departure go on as before."""
    sys.addaudithook(_audited)


def _audited(event: str, given: tuple[Any, ...]) -> None:
    if event not in ("socket.getaddrinfo", "socket.connect", "socket.sendto"):
        return
    departure: Departure | None = getattr(_here, "departure", None)
    if departure is None:
        return
    if event == "socket.getaddrinfo":
        departure.looked_up = True
    else:
        departure.judge(given[1])
