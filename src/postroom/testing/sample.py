"""The messages that the suite sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from postroom.domain.delivery import Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.testing.case import Case

DELIVERY: Final = DeliveryId("0198c0de-0000-7000-8000-000000000001")
LINK: Final = "https://home.example/a/canary-link"
CARD: Final = Markup(buttons=((Button(label="Yes, do", url=LINK), Button(label="Open", url=f"{LINK}/2")),))


def message(case: Case, **changes: Any) -> Message:
    plain = Message(delivery_id=DELIVERY, intent=Intent.SEND, address=case.address, text=case.text)
    return replace(plain, **changes)


def numbered(case: Case, number: int) -> Message:
    return message(case, delivery_id=DeliveryId(f"0198c0de-0000-7000-8000-{number:012d}"))


def revision(case: Case) -> Revision:
    return Revision(delivery_id=DELIVERY, provider_ids=(case.sent.provider_id,), conversation=case.sent.conversation)


def choices(count: int) -> Markup:
    """So many buttons that each say a token of their own."""
    return Markup(buttons=tuple((Button(label=f"Choice {one}", token=f"token-{one}"),) for one in range(1, count + 1)))
