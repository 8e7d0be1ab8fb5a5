"""All that the suite looks at for one case, one thing after another; as a report, and as tests of pytest."""

from __future__ import annotations

import asyncio
import platform
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from postroom.kernel.values.errors import DeliveryTimeout, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.message.channel import Capabilities, Channel, Listen
from postroom.message.delivery import Intent, Message, Receipt
from postroom.testing.case import CARD, Case, Endings, Place, message, numbered, revision
from postroom.testing.checks import (
    Check,
    CheckGroup,
    Look,
    attempt,
    check_of,
    connected,
    ensure,
    ensure_discreet,
    ensure_ended,
    everything_said,
    hearing,
    overhearing,
    own,
    standard,
    told,
)
from postroom.testing.proofs import capability_proofs
from postroom.testing.servers.http import FakeServer, closed_port
from postroom.testing.texts import properties

# Situations of the line and of the channel's life, in which the provider's words do not matter.

_UNKNOWN_HOST: Final = "no-such-host.invalid"
_AT_ONCE: Final = 20


async def _connection_refused(case: Case) -> None:
    await _unreachable(case, Place(port=closed_port()), TargetUnavailable)


async def _unknown_host(case: Case) -> None:
    await _unreachable(case, Place(port=closed_port(), host=_UNKNOWN_HOST), (TargetUnavailable, DeliveryTimeout))


async def _handshake_cut(case: Case) -> None:
    async with _Cutter() as server:
        await _unreachable(case, Place(port=server.port, tls=True), (TargetUnavailable, DeliveryTimeout))
        ensure(server.connections == 1, f"it was tried {server.connections} times")


async def _cancelled(case: Case) -> None:
    async with case.words.provider() as provider:
        provider.behave(*told(case, "read-then-silence").steps)
        async with connected(case, Place(port=provider.port)) as channel:
            sending = asyncio.create_task(attempt(channel, channel.prepare(message(case))[0], 60.0))
            await provider.arrived.wait()
            sending.cancel()
            await asyncio.wait([sending])
    ensure(sending.cancelled(), "the cancellation was swallowed")
    ensure(provider.taken == 1, f"the provider got {provider.taken} messages")


async def _close_while_sending(case: Case) -> None:
    with overhearing() as heard:
        async with case.words.provider() as provider:
            provider.behave(*told(case, "held").steps)
            async with connected(case, Place(port=provider.port)) as channel:
                sending = asyncio.create_task(attempt(channel, channel.prepare(message(case))[0], 5.0))
                await provider.arrived.wait()
                closing = asyncio.create_task(channel.close())
                provider.release.set()
                outcome = await sending
                await closing
    ensure_ended(outcome, (None, OutcomeUncertain))
    ensure_discreet(case, outcome, heard)
    ensure(provider.taken == 1, f"the provider got {provider.taken} messages")


async def _many_at_once(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        parts = [channel.prepare(numbered(case, number))[0] for number in range(_AT_ONCE)]
        outcomes = await asyncio.gather(*(attempt(channel, part, 10.0) for part in parts))
    ensure(all(isinstance(one, Receipt) for one in outcomes), "some of them have no receipt")
    ensure(provider.taken == _AT_ONCE, f"the provider got {provider.taken} messages")


_LIFETIME: Final = MappingProxyType[str, Look](
    {
        "connection-refused": _connection_refused,
        "unknown-host": _unknown_host,
        "handshake-cut": _handshake_cut,
        "cancelled": _cancelled,
        "close-while-sending": _close_while_sending,
        "many-at-once": _many_at_once,
    }
)


class _Cutter(FakeServer):
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        self.reset(writer)


async def _unreachable(case: Case, place: Place, allowed: Endings) -> None:
    with overhearing() as heard:
        async with connected(case, place) as channel:
            outcome = await attempt(channel, channel.prepare(message(case))[0], 5.0)
    ensure_ended(outcome, allowed)
    ensure_discreet(case, outcome, heard)


# How a channel behaves before anything is sent, and what it shows of itself.

_UNSENDABLE: Final = ("", " \n\t ", "\ud800", "a\x00b")
_LENGTHS: Final = (1, 4075, 4090, 4096, 5000, 20_000)
_NOWHERE: Final = Place(port=1)


def _name(case: Case) -> None:
    named = case.connect(_NOWHERE).name
    ensure(named == case.name, f"it is called {named!r}")


def _declares(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    can = channel.capabilities
    ensure(isinstance(can, Capabilities), "capabilities are no Capabilities")
    ensure("plain" in can.formats, "it does not carry plain text")
    ensure(can.inbound is isinstance(channel, Listen), "`inbound` and the method `listen` contradict each other")


def _refuses_undeclared(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    can = channel.capabilities
    for intent in [Intent.REPLY] * (not can.replies) + [Intent.REACT] * (not can.reacts):
        _refused(channel, message(case, intent=intent, thread=case.thread, emoji="👍"), f"{intent} is not declared")
    if not can.edits:
        _refused(channel, message(case, revises=revision(case)), "an edit is not declared")


def _address(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    ensure(channel.address(case.address) == case.address, "the address of the Case is not canonical")
    for text in (case.not_an_address, ""):
        ensure(channel.address(text) is None, f"{text!r} is taken for an address")


def _bad_address(case: Case) -> None:
    _refused(case.connect(_NOWHERE), message(case, address=case.not_an_address), "a bad address is prepared")


def _unsendable_text(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    for text in _UNSENDABLE:
        _refused(channel, message(case, text=text), f"the text {text!r} is prepared")


def _card(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    first, second = (list(channel.prepare(message(case, markup=CARD))) for _ in range(2))
    ensure(first == second, "preparing it twice gives two different things")
    ensure("canary" not in repr(first), "its repr shows a link")


def _repeated(case: Case) -> None:
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


def _shows_nothing(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    shown = repr(channel) + str(channel) + repr(channel.prepare(message(case)))
    ensure(not any(secret in shown for secret in case.secrets), "a repr shows a secret")
    ensure(case.text not in shown, "a repr shows the message")


async def _closing(case: Case) -> None:
    channel = case.connect(Place(port=closed_port()))
    await channel.close()
    await channel.close()


_SENTENCES: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "name": ("It has the name that envelopes use.", _name),
        "declares": ("It says what it can, and hears people if and only if it declares that.", _declares),
        "refuses-undeclared": ("What it does not declare is refused before any call.", _refuses_undeclared),
        "address": ("An address is canonical, and what is none is none.", _address),
        "bad-address": ("A bad address is refused before any call.", _bad_address),
        "unsendable-text": ("Text that cannot be carried is refused before any call.", _unsendable_text),
        "card": ("A message with links under it is carried, and its repr shows none of them.", _card),
        "repeated": ("A repeated message keeps every part that it had before.", _repeated),
        "shows-nothing": ("No repr shows a secret or the message.", _shows_nothing),
        "closing": ("Closing it twice or unused is harmless.", _closing),
    }
)


def _refused(channel: Channel, given: Message, otherwise: str) -> None:
    try:
        channel.prepare(given)
    except ValidationError as error:
        quoted = len(given.text.strip()) > 1 and any(given.text in said for said in [str(error), repr(error)])
        ensure(not quoted, "the refusal quotes the message")
        ensure(list(everything_said(error)), "the refusal says nothing")
        return
    raise AssertionError(f"{otherwise}, and not refused")


# All that the suite looks at, for one case.


def checks(case: Case) -> list[Check]:
    every = [
        *standard(case, dict(_LIFETIME)),
        *own(case),
        *(check_of(case, CheckGroup.MANNERS, "manners", name, *one) for name, one in _SENTENCES.items()),
        *properties(case),
        *capability_proofs(case),
        *hearing(case),
    ]
    return [*every, _sound({one.id for one in every})]


def _sound(known: set[str]) -> Check:
    def look(case: Case) -> None:
        unknown = sorted(set(case.not_applicable) - known)
        ensure(not unknown, f"not_applicable names what is no check: {', '.join(unknown)}")
        silent = sorted(name for name, reason in case.not_applicable.items() if not reason.strip())
        ensure(not silent, f"not_applicable gives no reason for {', '.join(silent)}")

    return Check(
        id="case", group=CheckGroup.MANNERS, sentence="The Case gives a reason for whatever is left out.", look=look
    )


# Look, and keep what came of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    check: Check
    failure: str | None = None

    @property
    def failed(self) -> bool:
        return self.failure is not None


def _look(case: Case, check: Check) -> None:
    """Raises AssertionError when the channel is at fault; with a loop, which a channel may need when it is made."""

    async def looked() -> None:
        if (waiting := check.look(case)) is not None:
            await waiting

    asyncio.run(looked())


def run(case: Case, every: Iterable[Check], seen: Callable[[CheckResult], None] = lambda _: None) -> list[CheckResult]:
    results = []
    for check in every:
        results.append(_result(case, check))
        seen(results[-1])
    return results


def _result(case: Case, check: Check) -> CheckResult:
    if check.not_applicable is not None:
        return CheckResult(check=check)
    try:
        _look(case, check)
    except AssertionError as error:
        return CheckResult(check=check, failure=str(error) or "it does not hold")
    except Exception as error:  # whatever the channel lets escape is its failure, and the others are looked at as well
        return CheckResult(check=check, failure=_escaped(error))
    return CheckResult(check=check)


def _escaped(error: Exception) -> str:
    """Where it comes from; what it says may quote the message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} escaped, at {Path(last.filename).name}:{last.lineno}"


# What came of the suite, as Markdown to paste.


def report(name: str, results: Sequence[CheckResult]) -> str:
    return "\n".join(_lines(name, results)) + "\n"


def mark(result: CheckResult) -> str:
    if result.check.not_applicable is not None:
        return "not applicable"
    return "**failed**" if result.failed else "ok"


def _lines(name: str, results: Sequence[CheckResult]) -> Iterator[str]:
    yield f"### The channel `{name}` in the suite of Postroom"
    yield ""
    yield f"postroom {version('postroom')}, Python {platform.python_version()}. {_summary(results)}"
    yield ""
    yield f"Capabilities proved: {_proved(results)}."
    for group in CheckGroup:
        rows = [one for one in results if one.check.group is group]
        if rows:
            yield from _table(group, rows)


def _summary(results: Sequence[CheckResult]) -> str:
    marks = [mark(one) for one in results]
    failed, absent = marks.count("**failed**"), marks.count("not applicable")
    return f"{marks.count('ok')} ok, {failed} failed, {absent} not applicable."


def _proved(results: Sequence[CheckResult]) -> str:
    names = [
        one.check.id.partition("/")[2] for one in results if one.check.group is CheckGroup.CAPABILITY and _holds(one)
    ]
    return ", ".join(f"`{name}`" for name in names) or "none"


def _holds(result: CheckResult) -> bool:
    return not result.failed and result.check.not_applicable is None


def _table(group: CheckGroup, rows: Sequence[CheckResult]) -> Iterator[str]:
    yield ""
    yield f"| {group} | | |"
    yield "|---|---|---|"
    for one in rows:
        yield f"| `{one.check.id}` | {_cell(one.check.sentence)} | {_cell(_ending(one))} |"


def _ending(result: CheckResult) -> str:
    said = result.failure or result.check.not_applicable
    return f"{mark(result)}: {said}" if said else mark(result)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


# The suite as tests of pytest.


def suite(case: Case) -> dict[str, Callable[..., None]]:
    """Names and tests for a test file: `globals().update(suite(CASE))`."""
    every = checks(case)

    @pytest.mark.parametrize("check", every, ids=[check.id for check in every])
    def test(check: Any) -> None:
        examine(case, check)

    return {f"test_{case.name.replace('-', '_')}": test}


def examine(case: Case, check: Check) -> None:
    """One check, as pytest sees it: passed, failed with a sentence, or skipped with the reason."""
    if check.not_applicable is not None:
        pytest.skip(check.not_applicable)
    try:
        _look(case, check)
    except AssertionError as error:
        pytest.fail(f"{check.sentence} But {error}", pytrace=False)
