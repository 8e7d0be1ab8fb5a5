"""From which device a person signed in, in words they know it by."""

from __future__ import annotations

from typing import Final

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)
UNKNOWN: Final = "an unknown device"


def device_words(user_agent: str) -> str:
    """Only from this list: what a browser says of itself is another's text."""
    browser = next((word for mark, word in _BROWSERS if mark in user_agent), "")
    system = next((word for mark, word in _SYSTEMS if mark in user_agent), "")
    return " on ".join(filter(None, (browser, system))) or UNKNOWN
