"""What the desk may be told from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from postroom.programs.desk.voicemode import voicemode_directory
from postroom.system.settings import Secret, Settings

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
