"""Each capability that a channel declares is proved by what its provider is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from postroom.kernel.values.errors import OutcomeUncertain, PostroomError, ValidationError
from postroom.message.attachment import Attachment
from postroom.message.channel import Capabilities, Channel, Reconcile
from postroom.message.delivery import Intent, Message, Receipt
from postroom.testing.case import FILES, Arrived, Case, OwnProof, Place, choices, message, numbered, revision
from postroom.testing.checks import Check, CheckGroup, Look, attempt, check_of, connected, ensure, ensure_ended
from postroom.testing.servers.http import FakeProvider, HttpProvider, Reply, TakenRequest, Trouble, raw_reply

# What a channel that declares `files` does with them, looked for with files that are easy to lose.


_ODD_NAME: Final = "Größe 'neu' \"7 %\" (1).txt"
_EVERY_BYTE: Final = FILES.hold("bytes.bin", bytes(range(256)) + b"\r\n--\r\n.\r\n\n\r" + bytes(range(255, -1, -1)))
_TEXT: Final = FILES.hold("notes.txt", "größer\r\nals\n".encode(), "text/plain")
_ODD: Final = FILES.hold(_ODD_NAME, b"a name like no other", "text/plain")
_EMPTY: Final = FILES.hold("empty.txt", b"", "text/plain")


async def _arrive(case: Case) -> None:
    arrived = await _files_sent(case, _some(case, _EVERY_BYTE, _TEXT))
    for one in _some(case, _EVERY_BYTE, _TEXT):
        found = [content for name, content in arrived if name == one.name]
        ensure(len(found) == 1, f"{one.name} arrived {len(found)} times")
        ensure(found[0] == await FILES.read(one), f"{one.name} arrived with other bytes")


async def _names(case: Case) -> None:
    arrived = [name for name, _ in await _files_sent(case, (_ODD,))]
    ensure(arrived == [_ODD_NAME], f"a file called {_ODD_NAME!r} arrived as {arrived}")


async def _empty(case: Case) -> None:
    try:
        arrived = await _files_sent(case, (_EMPTY,))
    except ValidationError:
        return
    ensure(arrived == [(_EMPTY.name, b"")], "an empty file is neither refused nor does it arrive")


async def _too_large(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        for what, files in _too_much(channel.capabilities):
            ensure(_is_refused(channel, case, files), f"{what} than declared: preparing does not refuse it")


async def _same_again(case: Case) -> None:
    """Each time by a new channel, as after a crash."""
    async with case.words.provider() as provider:
        for _ in range(2):
            await _send(case, provider, (_EVERY_BYTE,))
        arrived = _proof(case)(provider)
    ensure(len(arrived) == 2, f"sent twice, a file arrived {len(arrived)} times")
    ensure(arrived[0] == arrived[1], "a second try brings another file")


_SITUATIONS: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "files": ("Every file arrives once, to the byte.", _arrive),
        "files-names": ("A file's name arrives as it is, with umlauts and quotes.", _names),
        "files-empty": ("An empty file is refused before anything is sent, or arrives.", _empty),
        "files-too-large": ("Files beyond what is declared are refused before anything is sent.", _too_large),
        "files-same-again": ("A second try, by another channel too, brings the same bytes.", _same_again),
    }
)


def _too_much(can: Capabilities) -> list[tuple[str, Sequence[Attachment]]]:
    """Sizes alone: what is refused is never read."""
    found: list[tuple[str, Sequence[Attachment]]] = []
    if can.most_files is not None:
        found.append(("more files", (_TEXT,) * (can.most_files + 1)))
    if can.most_file_bytes is not None:
        found.append(("a larger file", (replace(_TEXT, size=can.most_file_bytes + 1),)))
    if can.most_files_bytes is not None:
        found.append(("more bytes together", (replace(_TEXT, size=can.most_files_bytes), _TEXT)))
    return found


def _is_refused(channel: Channel, case: Case, files: Sequence[Attachment]) -> bool:
    try:
        channel.prepare(message(case, attachments=tuple(files)))
    except ValidationError:
        return True
    return False


async def _files_sent(case: Case, files: Sequence[Attachment]) -> Sequence[Arrived]:
    proof = _proof(case)
    async with case.words.provider() as provider:
        await _send(case, provider, files)
        return proof(provider)


async def _send(case: Case, provider: FakeProvider, files: Sequence[Attachment]) -> None:
    async with connected(case, Place(port=provider.port)) as channel:
        for part in channel.prepare(message(case, attachments=tuple(files))):
            ensure_ended(await attempt(channel, part, 10.0), None)


def _some(case: Case, *files: Attachment) -> Sequence[Attachment]:
    """As many as go with one message."""
    most = case.connect(Place(port=1)).capabilities.most_files
    return files[:most]


def _proof(case: Case) -> Callable[[Any], Sequence[Arrived]]:
    if case.proofs.files is None:
        raise AssertionError("`files` is declared, and the Case gives no proof of it")
    return case.proofs.files


# Whether a channel that can ask what arrived believes the answer, and nothing else.


async def _reconciles(case: Case) -> None:
    await _looked_for(case, number_asked=1, found=True)
    await _looked_for(case, number_asked=2, found=False)
    await _away(case)


async def _looked_for(case: Case, *, number_asked: int, found: bool) -> None:
    async with _asked(case) as provider, connected(case, Place(port=provider.port)) as channel:
        ensure(isinstance(channel, Reconcile), "`reconciles` is declared, and there is no method `find`")
        since = case.now()
        provider.behave(Trouble.READ_THEN_RESET)
        part = channel.prepare(numbered(case, 1))[0]
        ensure_ended(await attempt(channel, part, 10.0), OutcomeUncertain)
        looked = channel.prepare(numbered(case, number_asked))[0]
        receipt = await channel.find(looked, since, 10.0) if isinstance(channel, Reconcile) else None
    ensure(provider.taken == 1, "asking sent the message again")
    if found:
        ensure(isinstance(receipt, Receipt) and receipt.provider_id, "what the provider has was not found")
    else:
        ensure(receipt is None, "what was never sent was found")


async def _away(case: Case) -> None:
    async with _asked(case, away=True) as provider, connected(case, Place(port=provider.port)) as channel:
        part = channel.prepare(numbered(case, 1))[0]
        try:
            await channel.find(part, case.now(), 10.0) if isinstance(channel, Reconcile) else None
        except PostroomError as error:
            ensure(not isinstance(error, OutcomeUncertain), "a question that gets no answer has no outcome")
            return
    raise AssertionError("the provider could not say, and find did")


def _asked(case: Case, *, away: bool = False) -> HttpProvider:
    """The case's own provider, which answers what it is asked from what it took."""
    provider, tells = case.words.provider(), case.proofs.reconciles
    if tells is None:
        raise AssertionError("`reconciles` is declared, and the Case gives no proof of it")
    if not isinstance(provider, HttpProvider):
        raise AssertionError("reading back is proved with a provider over HTTP")
    before = provider.aside

    def aside(request: TakenRequest) -> Reply | None:
        told = tells(request, provider.messages)
        if told is None:
            return before(request) if before else None
        return raw_reply(503, b"later") if away else told

    provider.aside = aside
    return provider


# Each declared capability, by what its provider is sent.


_EMOJI: Final = "👍"
_NOWHERE: Final = Place(port=1)
_SOME_BUTTONS: Final = 3


async def _receipt(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        receipts = [await attempt(channel, channel.prepare(numbered(case, one))[0], 10.0) for one in (1, 2)]
    names = [one.provider_id for one in receipts if isinstance(one, Receipt)]
    ensure(len(set(names)) == 2, "two messages did not get receipts with two names")


async def _dedupes(case: Case) -> None:
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


async def _edits(case: Case) -> None:
    asked = await _sent(case, message(case, revises=revision(case)))
    edited = _given(case.proofs.edits, "edits")(asked[-1])
    ensure(edited == case.sent.provider_id, f"the message to edit is {case.sent.provider_id}, and {edited} was named")


def _answers(what: str) -> Look:
    async def look(case: Case) -> None:
        asked = await _sent(case, message(case, intent=Intent.REPLY, thread=case.thread))
        named = _given(getattr(case.proofs, what), what)(asked[0])
        ensure(named == case.thread, f"the message to answer is {case.thread}, and {named!r} was named")

    return look


async def _reacts(case: Case) -> None:
    given = message(case, intent=Intent.REACT, thread=case.thread, emoji=_EMOJI, text="")
    shown = _given(case.proofs.reacts, "reacts")((await _sent(case, given))[0])
    ensure(shown == _EMOJI, f"the reaction is {_EMOJI}, and {shown!r} was sent")


async def _buttons(case: Case) -> None:
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


async def _deletes(case: Case) -> None:
    """Asked for as an edit is, by a revision that says so."""
    asked = await _sent(case, message(case, text="", revises=replace(revision(case), deletes=True)))
    gone = _given(case.proofs.deletes, "deletes")(asked[-1])
    ensure(gone == case.sent.provider_id, f"the message to delete is {case.sent.provider_id}, and {gone} was named")


async def _inbound(case: Case) -> None:
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
    ("receipt", lambda can: can.receipt, "Each message gets a name of its own.", _receipt),
    ("dedupes", lambda can: can.dedupes_for_seconds, "A part has one key, over restarts too.", _dedupes),
    ("reconciles", lambda can: can.reconciles, "It finds what arrived, and only that.", _reconciles),
    ("edits", lambda can: can.edits, "An edit names the message that was sent.", _edits),
    ("deletes", lambda can: can.deletes, "What was sent can be taken back.", _deletes),
    ("buttons", lambda can: can.buttons, "Every button arrives, up to `most_buttons`.", _buttons),
    ("reacts", lambda can: can.reacts, "A reaction arrives.", _reacts),
    ("replies", lambda can: can.replies, "A reply names the message it answers.", _answers("replies")),
    ("threads", lambda can: can.threads, "A reply stays in its thread.", _answers("threads")),
    *((name, lambda can: can.files, sentence, look) for name, (sentence, look) in _SITUATIONS.items()),
    ("inbound", lambda can: can.inbound, "What people write is heard (see below).", _inbound),
)


def capability_proofs(case: Case) -> list[Check]:
    can = _declared(case)
    return [
        check_of(case, CheckGroup.CAPABILITY, "capability", name, sentence, look)
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
