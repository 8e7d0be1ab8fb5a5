"""Policies and their tests as TOML files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from postroom.domain.settings_error import SettingsError

_MOST_BYTES: Final = 1024 * 1024
_WINDOW: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)", re.ASCII)


def read_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            written = opened.read(_MOST_BYTES + 1)
        if len(written) > _MOST_BYTES:
            raise SettingsError(f"{file}: is larger than {_MOST_BYTES} bytes; name the file of a policy.")
        return tomllib.loads(written.decode())
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror or 'cannot be read'}; name a file that you may read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: is no TOML: {error}. Mend that line.") from None


def read_policy_file(file: Path) -> dict[str, Any]:
    """The keys themselves, or a table `[attention]` as in the settings."""
    written = read_toml(file)
    table = written.get("attention")
    return table if isinstance(table, dict) and len(written) == 1 else written


def quiet_window(text: str) -> dict[str, str]:
    """`22:00-07:00`; which hours there are is the policy's to say."""
    if (found := _WINDOW.fullmatch(text.strip())) is None:
        raise SettingsError(f"--quiet: '{text}' is no pair of times; write it like 22:00-07:00.")
    return {"from": found[1], "until": found[2]}
