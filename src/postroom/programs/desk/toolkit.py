"""Which front end draws the window."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from postroom.programs.desk.settings import Toolkit
from postroom.programs.desk.system import System

_STATUS = ("--dest", "org.a11y.Bus", "--object-path", "/org/a11y/bus")
_GET = ("--method", "org.freedesktop.DBus.Properties.Get", "org.a11y.Status", "ScreenReaderEnabled")


def qt_is_installed() -> bool:
    return find_spec("PySide6") is not None


def choose(wanted: Toolkit, system: System, *, qt_installed: Callable[[], bool] = qt_is_installed) -> Toolkit:
    """Qt when asked for, or when a screen reader runs: Tk tells it nothing."""
    if wanted is not Toolkit.AUTO:
        return wanted
    return Toolkit.QT if qt_installed() and screen_reader_is_on(system) else Toolkit.TK


def screen_reader_is_on(system: System) -> bool:
    match system.platform:
        case "darwin":
            return system.output("defaults", "read", "com.apple.universalaccess", "voiceOverOnOffKey") == "1"
        case "win32":
            return bool(system.registry(r"Software\Microsoft\Narrator\NoRoam", "RunningState") == 1)
        case _:
            reply = system.output("gdbus", "call", "--session", "--timeout", "1", *_STATUS, *_GET)
            return "true" in (reply or "")
