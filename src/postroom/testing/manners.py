"""How a channel behaves before anything is sent, and what it shows of itself."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ports import Channel, Listen
from postroom.testing.case import Case, Place
from postroom.testing.check import Check, CheckGroup, Look, ensure
from postroom.testing.overheard import everything_said
from postroom.testing.sample import CARD, message, revision
from postroom.testing.servers.fake_server import closed_port

_UNSENDABLE: Final = ("", " \n\t ", "\ud800", "a\x00b")
_LENGTHS: Final = (1, 4075, 4090, 4096, 5000, 20_000)
_NOWHERE: Final = Place(port=1)


def name(case: Case) -> None:
    named = case.connect(_NOWHERE).name
    ensure(named == case.name, f"it is called {named!r}")


def declares(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    can = channel.capabilities
    ensure(isinstance(can, Capabilities), "capabilities are no Capabilities")
    ensure("plain" in can.formats, "it does not carry plain text")
    ensure(can.inbound is isinstance(channel, Listen), "`inbound` and the method `listen` contradict each other")


def refuses_undeclared(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    can = channel.capabilities
    for intent in [Intent.REPLY] * (not can.replies) + [Intent.REACT] * (not can.reacts):
        _refused(channel, message(case, intent=intent, thread=case.thread, emoji="👍"), f"{intent} is not declared")
    if not can.edits:
        _refused(channel, message(case, revises=revision(case)), "an edit is not declared")


def address(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    ensure(channel.address(case.address) == case.address, "the address of the Case is not canonical")
    for text in (case.not_an_address, ""):
        ensure(channel.address(text) is None, f"{text!r} is taken for an address")


def bad_address(case: Case) -> None:
    _refused(case.connect(_NOWHERE), message(case, address=case.not_an_address), "a bad address is prepared")


def unsendable_text(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    for text in _UNSENDABLE:
        _refused(channel, message(case, text=text), f"the text {text!r} is prepared")


def card(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    first, second = (list(channel.prepare(message(case, markup=CARD))) for _ in range(2))
    ensure(first == second, "preparing it twice gives two different things")
    ensure("canary" not in repr(first), "its repr shows a link")


def repeated(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    for length in _LENGTHS:
        text = ("word " * length)[:length]
        try:
            before = list(channel.prepare(message(case, text=text)))
        except ValidationError:
            continue  # too long to be carried, which a property asks about
        again = list(channel.prepare(message(case, text=text, repeated=True)))
        ensure(again[: len(before) - 1] == before[:-1], f"a part before the last changes ({length} characters)")
        ensure(len(again) in (len(before), len(before) + 1), f"a part is missing ({length} characters)")


def shows_nothing(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    shown = repr(channel) + str(channel) + repr(channel.prepare(message(case)))
    ensure(not any(secret in shown for secret in case.secrets), "a repr shows a secret")
    ensure(case.text not in shown, "a repr shows the message")


async def closing(case: Case) -> None:
    channel = case.connect(Place(port=closed_port()))
    await channel.close()
    await channel.close()


_SENTENCES: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "name": ("It has the name that envelopes use.", name),
        "declares": ("It says what it can, and hears people if and only if it declares that.", declares),
        "refuses-undeclared": ("What it does not declare is refused before any call.", refuses_undeclared),
        "address": ("An address is canonical, and what is none is none.", address),
        "bad-address": ("A bad address is refused before any call.", bad_address),
        "unsendable-text": ("Text that cannot be carried is refused before any call.", unsendable_text),
        "card": ("A message with links under it is carried, and its repr shows none of them.", card),
        "repeated": ("A repeated message keeps every part that it had before.", repeated),
        "shows-nothing": ("No repr shows a secret or the message.", shows_nothing),
        "closing": ("Closing it twice or unused is harmless.", closing),
    }
)


def manners(case: Case) -> list[Check]:
    return [
        Check(
            id=f"manners/{name}",
            group=CheckGroup.MANNERS,
            sentence=sentence,
            look=look,
            not_applicable=case.not_applicable.get(f"manners/{name}"),
        )
        for name, (sentence, look) in _SENTENCES.items()
    ]


def _refused(channel: Channel, given: Message, otherwise: str) -> None:
    try:
        channel.prepare(given)
    except ValidationError as error:
        quoted = len(given.text.strip()) > 1 and any(given.text in said for said in [str(error), repr(error)])
        ensure(not quoted, "the refusal quotes the message")
        ensure(list(everything_said(error)), "the refusal says nothing")
        return
    raise AssertionError(f"{otherwise}, and not refused")
