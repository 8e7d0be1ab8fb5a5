"""What was asked about a delivery, and what came to be known of it later, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.inbound_message import NewsKind

_HAPPENED: Final = {
    NewsKind.BOUNCED: "it bounced",
    NewsKind.FAILED: "it failed after all",
    NewsKind.DELAYED: "it is delayed",
    NewsKind.READ: "it was read",
    NewsKind.DELETED: "it was deleted",
}


def asked_first(channel: str, attempt: Mapping[str, Any]) -> str:
    """For an attempt before which the provider was asked."""
    return f"We asked {channel} whether it had arrived: {attempt['asked']}."


def said_later(news: Mapping[str, Any], when: str = "") -> str:
    """The provider's words follow as they are."""
    told = f"The provider said{f' {when}' if when else ''} that {_HAPPENED[NewsKind(news['kind'])]}"
    return f"{told}: {news['words']}" if news["words"] else f"{told}."
