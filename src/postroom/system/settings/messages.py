"""The settings of what goes with a message, and of the files that are attached to it."""

from __future__ import annotations

from pathlib import Path

from postroom.system.settings.section import Positive, SettingsSection


class MessagesSettings(SettingsSection):
    """What stands in a message beside the sender's own words."""

    sign: bool = False
    """A chat message begins with the name of the butler that sends it ("health: …"); e-mail has it in a header."""
    mark_repeats: bool = True
    """After a call whose outcome is unknown, the copy that is sent again ends with "(possibly repeated)"."""
    outbox: tuple[Path, ...] = ()
    """Folders below which callers may name files to attach; relative to the data directory."""
    files: str = "files"
    """Where attached files are kept: a folder, relative to the data directory."""
    file_megabytes_per_day: Positive = 1000
    """How much one caller may hand in within a day."""
