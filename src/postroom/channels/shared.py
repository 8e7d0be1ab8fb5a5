"""What channels have in common: addresses, words, buttons and files of a message, questions, and files of people."""

from __future__ import annotations

import asyncio
import hashlib
import json
import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urlsplit

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import RichText, is_emoji, spelled
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    ValidationError,
)
from postroom.kernel.values.fields import text_problem
from postroom.message.attachment import Attachment, FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import Intent, Message
from postroom.message.markup import Button, Markup

_Answer = TypeVar("_Answer")
Part = TypeVar("Part")


# The words of a message.


def check_text(message: Message, *, subject: bool = False) -> None:
    """An edit without a text changes the buttons alone; `subject` where the provider shows one."""
    if not message.text.strip() and (message.text or message.revises is None):
        raise ValidationError("message must not be blank")
    for name, text in (("message", message.text), ("subject", message.subject if subject else None)):
        if text and (problem := text_problem(text)):
            raise ValidationError(f"{name} {problem}")


def web_links(text: str) -> RichText:
    """Markdown of which only the web is linked; other targets stand beside their words."""
    return spelled(parse(text), lambda link: not link.detail.lower().startswith("http"))


def before_files(message: Message, parts: Callable[[bool], list[Part]]) -> list[Part]:
    """`parts` is asked for them with a mark or without; before files a mark makes none of its own: a file was there."""
    if not (message.repeated and message.attachments):
        return parts(message.repeated)
    plain, marked = parts(False), parts(True)
    return marked if len(marked) == len(plain) else plain


def edited(changed: Iterable[Part], surplus: Iterable[Part], added: Iterable[Part]) -> Sequence[Part]:
    """
    Over as many messages as the words need, the last of those that stand there first: it has the buttons, which are to
    go at once. Messages that are needed no more are taken away, and what has no room there goes on after them.
    """
    *others, last = [*changed, *surplus]
    return (last, *others, *added)


def utf8_length(text: str) -> int:
    return len(text.encode())


def json_length(text: str) -> int:
    """In bytes, between the quotes of JSON, where some characters become several."""
    return utf8_length(json.dumps(text, ensure_ascii=False)) - 2


def emoji_of(message: Message, fits: Callable[[str], object] = is_emoji) -> str:
    emoji = (message.emoji or "").strip()
    if not fits(emoji):
        raise ValidationError("emoji must be exactly one emoji")
    return emoji


# What stands under them.


def one_line(label: str) -> str:
    if problem := text_problem(label):
        raise ValidationError(f"a button's text {problem}")
    if not (line := " ".join(label.split())):
        raise ValidationError("a button's text must not be blank")
    return line


def token_of(button: Button, most: int, unit: str = "characters", length: Callable[[str], int] = len) -> str:
    token = button.token or ""
    if not token or text_problem(token) or length(token) > most:
        raise ValidationError(f"a button's token must have 1 to {most} {unit}")
    return token


def fits_a_button(button: Button) -> bool:
    """Providers open web addresses from a button, and refuse hosts without a dot, such as localhost."""
    if button.url is None:
        return True
    try:
        address = urlsplit(button.url)
        host = address.hostname or ""
    except ValueError:
        return False
    return address.scheme in ("http", "https") and ("." in host or ":" in host)


def linked(markup: Markup | None, fits: Callable[[Button], bool] = fits_a_button) -> list[Button]:
    """The links that fit in no button."""
    return [one for one in (markup.every_button if markup else ()) if not fits(one)]


def with_links(text: str, buttons: Iterable[Button]) -> str:
    """A link that the provider takes in no button would cost the whole message, so it stands below the text."""
    lines = [f"{one_line(button.label)}: {one_line(button.url or '')}" for button in buttons]
    return "\n\n".join([text.rstrip(), "\n".join(lines)]) if lines else text


# Files: checked before anything is sent, read when it is.

UNTYPED: Final = "application/octet-stream"
_UNNAMED: Final = "file"
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}")
_IN_NO_NAME: Final = frozenset("/\\")


def check_files(message: Message, can: Capabilities, files: FileContents | None, *, empty: bool = False) -> None:
    """
    By names, types and sizes alone; `empty`: a file without a byte can be sent as well.

    An edit leaves the files as they stand, so those it names are not sent.
    """
    if not message.attachments or message.revises is not None:
        return
    if files is None:
        raise ValidationError("attachments cannot be sent here: this channel has no files to read them from")
    if message.intent is Intent.REACT:
        raise ValidationError("attachments cannot go with a reaction")
    if can.most_files is not None and len(message.attachments) > can.most_files:
        raise ValidationError(f"attachments must be at most {can.most_files} on this channel")
    for place, one in enumerate(message.attachments):
        _check_size(f"attachments[{place}]", one.size, can.most_file_bytes, empty=empty)
    total = sum(one.size for one in message.attachments)
    if can.most_files_bytes is not None and total > can.most_files_bytes:
        raise ValidationError(
            f"attachments have {total:,} bytes together, and {can.most_files_bytes:,} go here at most"
        )


def _check_size(name: str, size: int, most: int | None, *, empty: bool) -> None:
    if most is not None and size > most:
        raise ValidationError(f"{name} has {size:,} bytes, and a file on this channel has at most {most:,}")
    if size == 0 and not empty:
        raise ValidationError(f"{name} is empty, and this channel takes no empty file")


async def read_file(files: FileContents | None, attachment: Attachment, timeout_seconds: float) -> bytes:
    """Nothing has been sent yet, so whatever goes wrong here leaves no doubt."""
    if files is None:
        raise InternalError("a file was prepared on a channel that has none")
    try:
        async with asyncio.timeout(timeout_seconds):
            content = await files.read(attachment)
    except TimeoutError:
        raise DeliveryTimeout("a file could not be read before the deadline") from None
    if len(content) != attachment.size:
        raise InternalError("a file is not what was handed in")
    return content


def plain_name(attachment: Attachment) -> str:
    """On one line and without folders, whatever it was called."""
    name = "".join(one if one.isprintable() and one not in _IN_NO_NAME else "_" for one in attachment.name).strip()
    return name if name.strip(".") else _UNNAMED


def plain_type(attachment: Attachment) -> str:
    return attachment.media_type.lower() if _MEDIA_TYPE.fullmatch(attachment.media_type) else UNTYPED


# A form with files (RFC 7578), byte for byte the same whenever it is made of the same things.


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFile:
    """`sha256` is the content's own, so that no content can hold the line that ends it."""

    form_field: str
    name: str
    media_type: str
    sha256: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartForm:
    content_type: str
    content: bytes = field(repr=False)


def form_of(fields: Mapping[str, str], files: Sequence[FormFile]) -> MultipartForm:
    boundary = _boundary(fields, files)
    pieces = [*_texts(fields, boundary), *_contents(files, boundary), f"--{boundary}--\r\n".encode()]
    return MultipartForm(content_type=f"multipart/form-data; boundary={boundary}", content=b"".join(pieces))


def _boundary(fields: Mapping[str, str], files: Sequence[FormFile]) -> str:
    about = [*fields.items(), *((one.form_field, one.name, one.sha256) for one in files)]
    return f"postroom-{hashlib.sha256(repr(about).encode('utf-8', 'backslashreplace')).hexdigest()[:40]}"


def _texts(fields: Mapping[str, str], boundary: str) -> Iterator[bytes]:
    for name, text in fields.items():
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()


def _contents(files: Sequence[FormFile], boundary: str) -> Iterator[bytes]:
    for one in files:
        yield (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="{one.form_field}"; filename="{_quoted(one.name)}"\r\n'
            f"Content-Type: {one.media_type}\r\n\r\n"
        ).encode()
        yield one.content
        yield b"\r\n"


def _quoted(name: str) -> str:
    """In UTF-8 as it stands; RFC 7578 forbids the encoded form that other headers have."""
    line = "".join(one if one.isprintable() else "_" for one in name)
    return line.replace("\\", "\\\\").replace('"', '\\"')


def form_files(files: Sequence[Attachment], contents: Sequence[bytes], name: Callable[[int], str]) -> list[FormFile]:
    """`name` is that of the form's field, by the place of the file."""
    return [
        FormFile(
            form_field=name(place), name=plain_name(one), media_type=plain_type(one), sha256=one.sha256, content=it
        )
        for place, (one, it) in enumerate(zip(files, contents, strict=True))
    ]


# The name of a file that came with a person's words and has none.

_ENDINGS: Final = {"audio/ogg": ".ogg", "image/jpeg": ".jpg", "audio/mpeg": ".mp3", "video/webm": ".webm"}


def with_ending(name: str, media_type: object) -> str:
    """Of those that a type may have, the one that people know."""
    if not isinstance(media_type, str):
        return name
    return f"{name}{_ENDINGS.get(media_type) or mimetypes.guess_extension(media_type) or ''}"
