"""Light or dark, plain or high contrast: what the system is set to."""

from __future__ import annotations

import re

from postroom.programs.desk.palette import palette_name
from postroom.programs.desk.system import System

_PERSONALIZE = r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"
_HIGH_CONTRAST = r"Control Panel\Accessibility\HighContrast"
_PORTAL = ("gdbus", "call", "--session", "--timeout", "1", "--dest", "org.freedesktop.portal.Desktop")
_READ_ONE = ("--object-path", "/org/freedesktop/portal/desktop", "--method", "org.freedesktop.portal.Settings.ReadOne")


def palette_for(theme: str, system: System) -> str:
    """The palette's name; a theme the caller chose is taken, `auto` asks the system."""
    dark = is_dark(system) if theme == "auto" else theme == "dark"
    return palette_name(dark=dark, high_contrast=is_high_contrast(system))


def is_dark(system: System) -> bool:
    """Light whenever the system does not say."""
    match system.platform:
        case "darwin":
            return (system.output("defaults", "read", "-g", "AppleInterfaceStyle") or "").lower() == "dark"
        case "win32":
            return bool(system.registry(_PERSONALIZE, "AppsUseLightTheme") == 0)
        case _:
            scheme = _gsettings(system, "org.gnome.desktop.interface", "color-scheme")
            if scheme in ("prefer-dark", "prefer-light"):
                return scheme == "prefer-dark"
            return _portal(system, "color-scheme") == 1


def is_high_contrast(system: System) -> bool:
    match system.platform:
        case "darwin":
            return system.output("defaults", "read", "com.apple.universalaccess", "increaseContrast") == "1"
        case "win32":
            flags = system.registry(_HIGH_CONTRAST, "Flags")
            return str(flags).isdigit() and int(flags) & 1 == 1
        case _:
            setting = _gsettings(system, "org.gnome.desktop.a11y.interface", "high-contrast")
            return setting == "true" or (setting is None and _portal(system, "contrast") == 1)


def _gsettings(system: System, schema: str, key: str) -> str | None:
    value = system.output("gsettings", "get", schema, key)
    return None if value is None else value.strip("'")


def _portal(system: System, key: str) -> int | None:
    """The desktop portal answers on KDE and others, where gsettings knows nothing: `(<uint32 1>,)`."""
    reply = system.output(*_PORTAL, *_READ_ONE, "org.freedesktop.appearance", key)
    found = re.search(r"uint32 (\d+)", reply or "")
    return int(found[1]) if found else None
