"""Each capability that a channel declares is proved by what its provider is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Intent, Message, Receipt
from postroom.domain.errors import ValidationError
from postroom.domain.ports import Channel
from postroom.testing.attempt import attempt, connected, ensure_ended
from postroom.testing.case import Case, OwnProof, Place
from postroom.testing.check import Check, CheckGroup, Look, ensure
from postroom.testing.file_proofs import SITUATIONS
from postroom.testing.read_back import reconciles
from postroom.testing.sample import choices, message, numbered, revision

_EMOJI: Final = "👍"
_NOWHERE: Final = Place(port=1)
_SOME_BUTTONS: Final = 3


async def receipt(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        receipts = [await attempt(channel, channel.prepare(numbered(case, one))[0], 10.0) for one in (1, 2)]
    names = [one.provider_id for one in receipts if isinstance(one, Receipt)]
    ensure(len(set(names)) == 2, "two messages did not get receipts with two names")


async def dedupes(case: Case) -> None:
    key = _given(case.proofs.dedupes, "dedupes")
    keys = []
    async with case.words.provider() as provider:
        for number in (1, 1, 2):
            async with connected(case, Place(port=provider.port)) as channel:  # a new one: a restart keeps the key
                await attempt(channel, channel.prepare(numbered(case, number))[0], 10.0)
        keys = [key(one) for one in provider.messages]
    ensure(len(keys) == 3 and all(keys), "a request has no key")
    ensure(keys[0] == keys[1], "the same part has another key when it is sent again")
    ensure(keys[0] != keys[2], "two messages have the same key")
    await _keys_of_parts(case, key)


async def _keys_of_parts(case: Case, key: Callable[[Any], str]) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        parts = _long(case, channel)
        for part in parts:
            await attempt(channel, part, 10.0)
        ensure(len(set(map(key, provider.messages))) == len(parts), "two parts of a message have the same key")


def _long(case: Case, channel: Channel) -> Sequence[Any]:
    most = channel.capabilities.max_units or 0
    try:
        return channel.prepare(message(case, text="word " * (most // 2)))
    except ValidationError:
        return channel.prepare(message(case))


async def edits(case: Case) -> None:
    asked = await _sent(case, message(case, revises=revision(case)))
    edited = _given(case.proofs.edits, "edits")(asked[-1])
    ensure(edited == case.sent.provider_id, f"the message to edit is {case.sent.provider_id}, and {edited} was named")


async def replies(case: Case) -> None:
    await _answers(case, message(case, intent=Intent.REPLY, thread=case.thread), case.proofs.replies, "replies")


async def threads(case: Case) -> None:
    await _answers(case, message(case, intent=Intent.REPLY, thread=case.thread), case.proofs.threads, "threads")


async def _answers(case: Case, given: Message, proof: Callable[[Any], str] | None, what: str) -> None:
    named = _given(proof, what)((await _sent(case, given))[0])
    ensure(named == case.thread, f"the message to answer is {case.thread}, and {named!r} was named")


async def reacts(case: Case) -> None:
    given = message(case, intent=Intent.REACT, thread=case.thread, emoji=_EMOJI, text="")
    shown = _given(case.proofs.reacts, "reacts")((await _sent(case, given))[0])
    ensure(shown == _EMOJI, f"the reaction is {_EMOJI}, and {shown!r} was sent")


async def buttons(case: Case) -> None:
    tokens = _given(case.proofs.buttons, "buttons")
    most = case.connect(_NOWHERE).capabilities.most_buttons
    for count in {_SOME_BUTTONS if most is None else min(most, _SOME_BUTTONS), most or _SOME_BUTTONS}:
        arrived = tokens((await _sent(case, message(case, markup=choices(count))))[-1])
        ensure(sorted(arrived) == _tokens(count), f"of {count} buttons {len(arrived)} arrived")
    if most is not None:
        await _too_many(case, most + 1, tokens)


async def _too_many(case: Case, count: int, tokens: Callable[[Any], Sequence[str]]) -> None:
    try:
        arrived = tokens((await _sent(case, message(case, markup=choices(count))))[-1])
    except ValidationError:
        return
    ensure(sorted(arrived) == _tokens(count), "a button too many is dropped without a word")


def _tokens(count: int) -> list[str]:
    return sorted(button.token or "" for button in choices(count).every_button)


async def deletes(case: Case) -> None:
    """Asked for as an edit is, by a revision that says so."""
    asked = await _sent(case, message(case, text="", revises=replace(revision(case), deletes=True)))
    gone = _given(case.proofs.deletes, "deletes")(asked[-1])
    ensure(gone == case.sent.provider_id, f"the message to delete is {case.sent.provider_id}, and {gone} was named")


async def inbound(case: Case) -> None:
    ensure(case.person is not None, "it hears people, and the Case gives no `person` who writes")


async def _own(case: Case, proof: OwnProof) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        await proof(channel, provider)


async def _sent(case: Case, given: Message) -> Sequence[Any]:
    """What the provider got of it; every part must have been taken."""
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        for part in channel.prepare(given):
            ensure_ended(await attempt(channel, part, 10.0), None)
    ensure(provider.messages, "nothing was sent")
    return provider.messages


def _given(proof: Any, name: str) -> Any:
    if proof is None:
        raise AssertionError(f"`{name}` is declared, and the Case gives no proof of it")
    return proof


_PROOFS: Final[Sequence[tuple[str, Callable[[Capabilities], object], str, Look]]] = (
    ("receipt", lambda can: can.receipt, "Each message gets a name of its own.", receipt),
    (
        "dedupes",
        lambda can: can.dedupes_for_seconds,
        "A part has one key, over restarts too.",
        dedupes,
    ),
    (
        "reconciles",
        lambda can: can.reconciles,
        "It finds what arrived, and only that.",
        reconciles,
    ),
    ("edits", lambda can: can.edits, "An edit names the message that was sent.", edits),
    ("deletes", lambda can: can.deletes, "What was sent can be taken back.", deletes),
    (
        "buttons",
        lambda can: can.buttons,
        "Every button arrives, up to `most_buttons`.",
        buttons,
    ),
    ("reacts", lambda can: can.reacts, "A reaction arrives.", reacts),
    ("replies", lambda can: can.replies, "A reply names the message it answers.", replies),
    ("threads", lambda can: can.threads, "A reply stays in its thread.", threads),
    *((name, lambda can: can.files, sentence, look) for name, (sentence, look) in SITUATIONS.items()),
    ("inbound", lambda can: can.inbound, "What people write is heard (see below).", inbound),
)


def capability_proofs(case: Case) -> list[Check]:
    can = _declared(case)
    return [
        Check(
            id=f"capability/{name}",
            group=CheckGroup.CAPABILITY,
            sentence=sentence,
            look=look,
            not_applicable=case.not_applicable.get(f"capability/{name}"),
        )
        for name, declared, sentence, look in _PROOFS
        if declared(can)
    ]


def _declared(case: Case) -> Capabilities:
    """A channel may need a loop as soon as it is made."""

    async def declared() -> Capabilities:
        return case.connect(_NOWHERE).capabilities

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(declared())
    return case.connect(_NOWHERE).capabilities
