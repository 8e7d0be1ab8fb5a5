"""Short questions to the operating system: a program's output or a registry value, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, Protocol

PROBE_SECONDS = 0.3


class System(Protocol):
    @property
    def platform(self) -> str:
        """As in `sys.platform`."""
        ...

    def output(self, *command: str) -> str | None:
        """What the program printed; None when it is missing, fails or takes too long."""
        ...

    def registry(self, path: str, name: str) -> Any:
        """A value below HKEY_CURRENT_USER; None when there is none."""
        ...


class ThisSystem:
    @property
    def platform(self) -> str:
        return sys.platform

    def output(self, *command: str) -> str | None:
        try:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=PROBE_SECONDS,
                env=_without_autolaunch(),
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode(errors="replace").strip()

    def registry(self, path: str, name: str) -> Any:
        if sys.platform != "win32":
            return None
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:
                return winreg.QueryValueEx(key, name)[0]
        except OSError:
            return None


def _without_autolaunch() -> dict[str, str]:
    """A session without a message bus is asked nothing; no bus is started for it."""
    if sys.platform == "win32":
        return dict(os.environ)
    return {"DBUS_SESSION_BUS_ADDRESS": f"unix:path=/run/user/{os.getuid()}/bus", **os.environ}
