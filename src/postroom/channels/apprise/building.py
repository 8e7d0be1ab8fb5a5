"""A message as a service of Apprise takes it, and which Apprise URLs an account may have."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from postroom.channels.email.building import links
from postroom.channels.shared import check_text
from postroom.kernel.http.call import PrivateAddress, is_public
from postroom.kernel.text.rich import cut, marked, split
from postroom.kernel.values.errors import ValidationError
from postroom.message.delivery import REPEAT_MARK, Intent, Message

# Plain text in pieces, with a title over the first.

_ADDRESS: Final = "-"
_LEAST_BODY: Final = 40
_LONGEST_TITLE: Final = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """In characters; a title of 0 stands in the text itself."""

    body: int
    title: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprisePart:
    text: str = field(repr=False)
    title: str = field(default="", repr=False)


def address(text: str) -> str | None:
    """The URL in the settings is the address; a message has nothing to add."""
    return _ADDRESS if text.strip() == _ADDRESS else None


def build(message: Message, limits: ServiceLimits) -> Sequence[ApprisePart]:
    _check(message)
    title = _title(message.subject or "", limits)
    room = max(limits.body - (len(title) + 2 if limits.title <= 0 else 0), _LEAST_BODY)
    texts = split("\n\n".join([message.text.rstrip(), *links(message.markup)]), room)
    if message.repeated:
        texts = marked(texts, REPEAT_MARK, room)
    first, *others = texts
    return (ApprisePart(text=first, title=title), *(ApprisePart(text=text) for text in others))


def _check(message: Message) -> None:
    if address(message.address) is None:
        raise ValidationError("recipient must be -: the URL in the settings says where messages go")
    if message.revises is not None:
        raise ValidationError("what was sent with Apprise cannot be edited")
    if message.intent is not Intent.SEND:
        raise ValidationError("Apprise can only send: it knows neither replies nor reactions")
    check_text(message, subject=True)


def _title(subject: str, limits: ServiceLimits) -> str:
    most = limits.title if limits.title > 0 else min(_LONGEST_TITLE, limits.body // 4)
    return cut(" ".join(subject.split()), most)


# Which Apprise URLs an account may have: one service elsewhere, and nothing that reads or does something here.

HERE: Final = frozenset(
    {"blink1", "dbus", "gio", "glib", "gnome", "growl", "kde", "macosx", "qt", "syslog", "rsyslog", "windows"}
)
CHAINS: Final = frozenset({"apprise", "apprises"})
OURS: Final = frozenset(
    {"retry", "wait", "optional", "redirect", "verify", "overflow", "cto", "rto", "store", "format", "emojis"}
)
FILES: Final = frozenset({"template", "keyfile", "subfile", "pgp", "pgppub", "pgpprv", "attach"})

_SECOND: Final = re.compile(r"[\s,;][^?&=]*://")
_FORM: Final = re.compile(r"[a-z0-9]{1,32}://[!-~]*", re.IGNORECASE)


def form_problem(url: str) -> str | None:
    """What is wrong with the URL as it is written; the sentence repeats nothing of it."""
    if _SECOND.search(url):
        return "must name one service; make an account for each"
    if not _FORM.fullmatch(url):
        return "must be an Apprise URL such as ntfys://host/topic, without spaces"
    return None


def service_problem(schemas: Iterable[str], parameters: Iterable[str] = ()) -> str | None:
    """The same of what Apprise reads in it, so that no other spelling gets around the rules."""
    named = {schema.lower() for schema in schemas}
    if named & HERE:
        return f"must not be {_listed(named & HERE)}: it would do something on this machine"
    if named & CHAINS:
        return "must not lead to another Apprise: nothing could be known about what it does"
    given = {parameter.strip().lower() for parameter in parameters}
    if taken := given & OURS:
        return f"must not set {_listed(taken)}: retries, patience and form are Postroom's own"
    if read := given & FILES:
        return f"must not set {_listed(read)}: it can read files of this machine"
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


# What a message may connect to while a library sends it, asked of Python itself and not of the library.


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
