"""What the sandbox keeps, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.programs.sandbox.kept_files import ArrivedFile, SandboxFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a message said before it was edited; when is not known of edits that older files keep."""

    text: str = field(repr=False)
    reply_markup: str | None = field(default=None, repr=False)
    edited_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramMessage:
    message_id: int
    chat_id: str
    text: str = field(repr=False)
    date_us: int
    from_person: bool = False
    from_name: str | None = None
    reply_to_message_id: int | None = None
    parse_mode: str | None = None
    reply_markup: str | None = field(default=None, repr=False)
    reactions: tuple[str, ...] = ()
    from_id: int | None = None
    bot: str = ""
    """Which of the household's bots it is from, or for."""
    entities: str | None = field(default=None, repr=False)
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    presses: tuple[Callback, ...] = field(default=(), repr=False)
    files: tuple[SandboxFile, ...] = ()
    """Then the text is their caption."""
    is_deleted: bool = False

    @property
    def earlier_texts(self) -> tuple[str, ...]:
        """Without the edits that changed the buttons alone."""
        followed = [*(edit.text for edit in self.edits[1:]), self.text]
        return tuple(edit.text for edit, after in zip(self.edits, followed, strict=False) if edit.text != after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who really typed a message, and how it came into the chat."""

    from_id: int | None = None
    is_bot: bool = False
    forwarded: bool = False
    sender_chat_id: str | None = None
    via_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One tap; `emoji` is None when the reaction was taken back."""

    reaction_id: int
    chat_id: str
    message_id: int
    emoji: str | None
    from_person: bool
    date_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A button the person pressed, and what the bot answered."""

    callback_id: int
    chat_id: str
    message_id: int
    data: str = field(repr=False)
    date_us: int
    answer: str | None = field(default=None, repr=False)
    answered_us: int | None = None
    from_id: int | None = None
    is_alert: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMail:
    """One mail, read; `raw` is the bytes as they came."""

    sender: str
    recipients: tuple[str, ...]
    subject: str = field(repr=False)
    body: str = field(repr=False)
    message_id: str | None = None
    in_reply_to: str | None = None
    references: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    raw: bytes = field(default=b"", repr=False)
    given: tuple[ArrivedFile, ...] = field(default=(), repr=False)
    """Files as they were read; once they are kept, `files` says what they are."""
    files: tuple[SandboxFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMail:
    email_id: int
    received_us: int
    mail: ReceivedMail
