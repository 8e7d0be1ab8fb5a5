"""What a channel that declares `files` does with them, looked for with files that are easy to lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from postroom.domain.attachment import Attachment
from postroom.domain.capabilities import Capabilities
from postroom.domain.errors import ValidationError
from postroom.domain.ports import Channel
from postroom.testing.attempt import attempt, connected, ensure_ended
from postroom.testing.case import Arrived, Case, Place
from postroom.testing.check import Look, ensure
from postroom.testing.held_files import FILES
from postroom.testing.sample import message
from postroom.testing.servers.fake_server import FakeProvider

ODD_NAME: Final = "Größe 'neu' \"7 %\" (1).txt"
_EVERY_BYTE: Final = FILES.hold("bytes.bin", bytes(range(256)) + b"\r\n--\r\n.\r\n\n\r" + bytes(range(255, -1, -1)))
_TEXT: Final = FILES.hold("notes.txt", "größer\r\nals\n".encode(), "text/plain")
_ODD: Final = FILES.hold(ODD_NAME, b"a name like no other", "text/plain")
_EMPTY: Final = FILES.hold("empty.txt", b"", "text/plain")


async def arrive(case: Case) -> None:
    arrived = await _sent(case, _some(case, _EVERY_BYTE, _TEXT))
    for one in _some(case, _EVERY_BYTE, _TEXT):
        found = [content for name, content in arrived if name == one.name]
        ensure(len(found) == 1, f"{one.name} arrived {len(found)} times")
        ensure(found[0] == await FILES.read(one), f"{one.name} arrived with other bytes")


async def names(case: Case) -> None:
    arrived = [name for name, _ in await _sent(case, (_ODD,))]
    ensure(arrived == [ODD_NAME], f"a file called {ODD_NAME!r} arrived as {arrived}")


async def empty(case: Case) -> None:
    try:
        arrived = await _sent(case, (_EMPTY,))
    except ValidationError:
        return
    ensure(arrived == [(_EMPTY.name, b"")], "an empty file is neither refused nor does it arrive")


async def too_large(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        for what, files in _too_much(channel.capabilities):
            ensure(_is_refused(channel, case, files), f"{what} than declared: preparing does not refuse it")


async def same_again(case: Case) -> None:
    """Each time by a new channel, as after a crash."""
    async with case.words.provider() as provider:
        for _ in range(2):
            await _send(case, provider, (_EVERY_BYTE,))
        arrived = _proof(case)(provider)
    ensure(len(arrived) == 2, f"sent twice, a file arrived {len(arrived)} times")
    ensure(arrived[0] == arrived[1], "a second try brings another file")


SITUATIONS: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "files": ("Every file arrives once, to the byte.", arrive),
        "files-names": ("A file's name arrives as it is, with umlauts and quotes.", names),
        "files-empty": ("An empty file is refused before anything is sent, or arrives.", empty),
        "files-too-large": ("Files beyond what is declared are refused before anything is sent.", too_large),
        "files-same-again": ("A second try, by another channel too, brings the same bytes.", same_again),
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


async def _sent(case: Case, files: Sequence[Attachment]) -> Sequence[Arrived]:
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
