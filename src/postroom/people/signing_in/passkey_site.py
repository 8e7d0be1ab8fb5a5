"""Whether passkeys can be used where the console was opened, and from which device a person signed in."""

from __future__ import annotations

import ipaddress
from typing import Final

from starlette.requests import Request

from postroom.people.signing_in.passkeys import Site

_LOCAL: Final = "localhost"


def site_of(request: Request) -> Site | None:
    """
    By the name it was asked for, which the guard has checked against the settings.

    None for a bare address such as 127.0.0.1, which the standard gives no passkeys.
    """
    host = request.headers.get("host", "").lower()
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name == _LOCAL:
        return Site(rp_id=_LOCAL, origin=f"http://{host}")
    return None if not name or _is_number(name) or "." not in name else Site(rp_id=name, origin=f"https://{host}")


def local_address(request: Request) -> str:
    """The same page under the name that has passkeys on this machine."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"http://{_LOCAL}:{port}" if port.isdigit() else f"http://{_LOCAL}"


def is_this_machine(request: Request) -> bool:
    host = request.headers.get("host", "").lower()
    return host.startswith(("127.", "[::1]"))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The device, in words its person knows it by.

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
