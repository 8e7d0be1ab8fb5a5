"""Where a provider reaches this household from outside, to bring what people write."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from postroom.system.settings.shipped import SHIPPED

if TYPE_CHECKING:
    from postroom.system.settings.model import Settings


def _checked(text: str) -> str:
    if not text:
        return text
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError("must be an https:// address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an https:// address")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("must be an https:// address; http:// is for this machine only")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must be an address without a login, a query and a fragment")
    return text.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


WebhookBase = Annotated[str, AfterValidator(_checked)]


def webhook_bases(settings: Settings) -> dict[str, str]:
    """By account, of those that have one; in the sandbox no credentials are needed for it."""
    named = {**{name: getattr(settings, name) for name in SHIPPED}, **settings.channels}
    found = {name: getattr(options, "webhook", "") for name, options in named.items()}
    return {name: base for name, base in found.items() if base}


def webhook_hosts(settings: Settings) -> tuple[str, ...]:
    """The names by which providers call us there, as they stand in a URL."""
    hosts = (urlsplit(base).hostname or "" for base in webhook_bases(settings).values())
    return tuple(f"[{host}]" if ":" in host else host for host in hosts)
