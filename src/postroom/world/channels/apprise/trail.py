"""What one message left behind on its way out: every request, what came of it, and which sockets were opened."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto

from postroom.world.http.public_address import PrivateAddress, is_public


class Fate(Enum):
    ANSWERED = auto()
    NOT_SENT = auto()
    UNKNOWN = auto()  # it has left, or may have


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRequest:
    fate: Fate
    status: int = 0
    retry_after: str | None = None

    @property
    def accepted(self) -> bool:
        return self.fate is Fate.ANSWERED and 200 <= self.status < 300


class Abandoned(OSError):
    """Raised in the worker's thread: the caller no longer waits, so nothing more may leave."""


@dataclass(slots=True, kw_only=True)
class Trail:
    """Written by the thread that sends, read and ended by the one that waits."""

    patience_seconds: float
    public_only: bool
    requests: list[WatchedRequest] = field(default_factory=list)
    asked: bool = False
    """A request over HTTP was begun."""
    led_home: bool = False
    """A connection was refused because its address is private."""
    left: bool = False
    """A request is on its way, perhaps in part, and nothing came back yet."""
    connected: bool = False
    _ends_at: float = field(init=False)
    _ended: bool = False
    _open: list[socket.socket] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._ends_at = time.monotonic() + self.patience_seconds

    @property
    def left_seconds(self) -> float:
        return max(self._ends_at - time.monotonic(), 0.01)

    @property
    def doubtful(self) -> bool:
        return any(request.fate is Fate.UNKNOWN for request in self.requests)

    @property
    def accepted(self) -> bool:
        return any(request.accepted for request in self.requests)

    def begin(self) -> None:
        """No second request once the fate of one is unknown: a library's own repetition could bring a copy."""
        self._check_open()
        if self.doubtful:
            raise Abandoned("an earlier request may have arrived")
        self.asked, self.left = True, False

    def leave(self) -> None:
        """Called just before the bytes are written, so it never errs towards "not sent"."""
        with self._lock:
            self._refuse_if_ended()
            self.left = True

    def answered(self, status: int, retry_after: str | None) -> None:
        self.requests.append(WatchedRequest(fate=Fate.ANSWERED, status=status, retry_after=retry_after))
        self.left = False

    def failed(self) -> None:
        self.requests.append(WatchedRequest(fate=Fate.UNKNOWN if self.left else Fate.NOT_SENT))

    def judge(self, address: object) -> None:
        """Before anything goes to an address."""
        self._check_open()
        if self.public_only and not (isinstance(address, tuple) and is_public(str(address[0]))):
            self.led_home = True
            raise PrivateAddress

    def opened(self, connection: socket.socket | None) -> None:
        """Kept as a copy, for encryption takes the original away; through it a thread that waits is woken."""
        with self._lock:
            self._refuse_if_ended()
            self.connected = True
            if connection is not None:
                self._open.append(connection.dup())

    def end(self, *, cut: bool = False) -> None:
        """From now on nothing leaves; what is cut waits for no answer any more."""
        with self._lock:
            self._ended = True
            kept, self._open = self._open, []
        for connection in kept:
            with contextlib.suppress(OSError), connection:
                if cut:
                    connection.shutdown(socket.SHUT_RDWR)

    def _check_open(self) -> None:
        with self._lock:
            self._refuse_if_ended()

    def _refuse_if_ended(self) -> None:
        if self._ended:
            raise Abandoned("the deadline has passed")


TRAIL: ContextVar[Trail | None] = ContextVar("postroom_apprise_trail", default=None)
