"""The files with which a person's own account keeps a household running: systemd's, and launchd's on macOS."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

UNIT: Final = "postroom.service"
LABEL: Final = "org.postroom.household"
_SPECIAL: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"})

_SYSTEMD: Final = """\
[Unit]
Description=Postroom household
After=network.target

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=2
TimeoutStopSec=60
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def systemd_file(command: Sequence[str]) -> str:
    return _SYSTEMD.format(command=" ".join(f'"{word.translate(_SPECIAL)}"' for word in command))


def launchd_file(command: Sequence[str], home: Path) -> str:
    log = str(home / "Library" / "Logs" / "postroom.log")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "ExitTimeOut": 60,
            "StandardOutPath": log,
            "StandardErrorPath": log,
            "Umask": 0o077,
        },
        sort_keys=False,
    ).decode()
