"""A desk's words: how a popup can end, what goes to the window, and what a desk may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from postroom.desk.history import voicemode_directory
from postroom.kernel.running.process import Secret

if TYPE_CHECKING:  # a window asks without the model of settings, which takes a while to load
    from postroom.settings import Settings

REPLY_LIMIT = 10_000


# How a popup can end, and the sentence each end is answered with.


class PopupOutcome(StrEnum):
    SUBMITTED = "submitted"
    EMPTY = "empty"
    DISPLAYED = "displayed"
    CANCELLED = "cancelled"
    DECLINED = "declined"
    """The person would rather not answer, and said so."""
    DISMISSED = "dismissed"
    TIMEOUT = "timeout"
    REPLACED = "replaced"
    HEADLESS = "headless"
    NO_TOOLKIT = "no_toolkit"
    CRASHED = "crashed"


FAILURES = frozenset({PopupOutcome.HEADLESS, PopupOutcome.NO_TOOLKIT, PopupOutcome.CRASHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupEnding:
    outcome: PopupOutcome
    text: str = ""
    chosen: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Ending(outcome={self.outcome.value!r}, text=***)"

    @property
    def reply(self) -> str:
        """Chosen options one per line, then what was typed, exactly as it was typed."""
        return "\n".join([*self.chosen, *([self.text] if self.text.strip() or not self.chosen else [])])


def answer(ending: PopupEnding, timeout_seconds: float | None = None) -> str:
    match ending.outcome:
        case PopupOutcome.SUBMITTED:
            return f"User response: {ending.reply}"
        case PopupOutcome.EMPTY:
            return "User submitted empty response"
        case PopupOutcome.DISPLAYED:
            return "✓ Message displayed successfully"
        case PopupOutcome.CANCELLED | PopupOutcome.DECLINED:
            return "User cancelled the popup"
        case PopupOutcome.DISMISSED:
            return "User dismissed the popup"
        case PopupOutcome.TIMEOUT:
            return f"No response within {timeout_seconds:.15g}s timeout"
        case PopupOutcome.REPLACED:
            return "User cancelled or dismissed the popup"
        case PopupOutcome.HEADLESS:
            return "Error: Cannot display popup - no display available. This feature requires a graphical environment."
        case PopupOutcome.NO_TOOLKIT:
            return (
                "Error: Cannot display popup - Python's tkinter is not installed (on Debian: apt install python3-tk)."
            )
        case PopupOutcome.CRASHED:
            return "Error: The popup window failed before it was answered. What was typed is kept for the next popup."
        case _ as never:
            assert_never(never)


# What the server and the window's process say to each other.


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetField:
    """One line of a form: with choices something is picked, without them it is typed."""

    name: str
    label: str
    hint: str = ""
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    """Each value with what the person reads."""
    several: bool = False
    value: tuple[str, ...] = field(default=(), repr=False)
    """What stands in it at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Everything the window needs to know before it appears."""

    message: str = field(repr=False)
    title: str
    project: str = ""
    history: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Who (`stt` for the person, `tts` for the assistant) said what, oldest first."""
    wait_for_response: bool = True
    timeout_seconds: float | None = None
    """For a question, when to give up; for a plain message, when to leave."""
    grace_seconds: float = 10.0
    palette: str = "light"
    options: tuple[str, ...] = field(default=(), repr=False)
    allow_multiple: bool = False
    secret: bool = False
    fields: tuple[SheetField, ...] = field(default=(), repr=False)
    """Of a form, in place of options and reply."""
    has_reply: bool = True
    """Whether words of one's own can be typed."""
    text: str = field(default="", repr=False)
    """What stands in the reply at first."""
    problem: str = ""
    """Why it is shown once more."""
    needs_answer: bool = False
    """Nothing at all, or a choice and words at once, cannot be submitted."""
    settle_seconds: float = 0.0
    """Keys meant for another window must not answer: nothing can be submitted before it was there for so long."""
    submit_label: str = "Submit"
    cancel_label: str = "Cancel"
    decline_label: str = ""
    """With it there is a button that refuses to answer, which is an answer."""
    reply_limit: int = 10_000
    draft_file: str
    turn_file: str
    turn_token: str
    preview: bool = False
    """Only to see what it looks like: it leaves by itself as soon as it is drawn."""

    @property
    def ends_by_choosing(self) -> bool:
        """A press on an option is all there is to do, so there is nothing to submit."""
        return bool(self.options) and not self.allow_multiple and not self.has_reply


class WindowSign(StrEnum):
    MAPPED = "mapped"
    """It is to be seen."""
    TICK = "tick"
    """It lives."""
    FAILED = "failed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEvent:
    """What the window says; with how it ended, or why it could not be shown."""

    sign: WindowSign
    ending: PopupEnding | None = None


CLOSE_LINE = b'"close"\n'
"""What tells the window to go."""


# What the desk may be told from outside.

DEFAULT_PORT = 40105
_NO_TOKEN = Secret("")


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupSettings:
    home: Path
    voicemode: Path
    """VoiceMode's base folder, whose conversation log the desk shares."""
    project_path: str
    history_limit: int = 5
    """Exchanges of the running conversation shown above the message."""
    show_seconds: float = 10.0
    """A display that has not shown the window by then does not answer."""
    display_only_seconds: float = 10.0
    """How long a message without a question stays, unless the call says otherwise."""
    typing_grace_seconds: float = 10.0
    progress_seconds: float = 10.0
    silence_seconds: float = 60.0
    """A window that has not given a sign of life for so long hangs."""
    questions: bool = True
    """Whether the household's open questions are shown here."""
    settle_seconds: float = 1.0
    """Keys meant for another window must not answer a question that has only just come up."""
    token: Secret = _NO_TOKEN
    """Over HTTP, what a client must bear."""

    @property
    def drafts(self) -> Path:
        return self.home / "desk" / "drafts"

    @property
    def turn(self) -> Path:
        return self.home / "desk" / "turn"


def from_settings(
    settings: Settings, environ: Mapping[str, str], *, working_directory: Path, user_home: Path
) -> PopupSettings:
    """The household's settings, and VoiceMode's own word on where its log is."""
    return PopupSettings(
        home=settings.home,
        voicemode=voicemode_directory(environ, working_directory=working_directory, user_home=user_home),
        project_path=str(working_directory),
        **dict(settings.desk),
    )
