"""`notify_many`: messages handed in together, each judged and answered by itself, written in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify_response import argument_error
from postroom.doors.butler.known_fields import known_fields
from postroom.doors.butler.notify import NotifyArguments, wait_seconds
from postroom.work.delivery.together import together

MOST_TOGETHER: Final = 500
ITEM_FIELDS: Final = tuple(one.name for one in fields(NotifyArguments) if one.name != "wait_seconds")

Item = dict[str, Any]
Notify = Callable[[Item], Awaitable[dict[str, Any]]]


def read_batch(notifications: object, asked_wait: object) -> tuple[Sequence[object], float]:
    """The messages as they came, and how long to wait for all of them; without a word no one waits."""
    if not isinstance(notifications, list) or not notifications:
        raise ValidationError.of([FieldError("notifications", "must be a list of messages", "list_required")])
    if len(notifications) > MOST_TOGETHER:
        told = f"may have at most {MOST_TOGETHER} messages, and has {len(notifications)}"
        raise ValidationError.of([FieldError("notifications", told, "too_many")])
    return notifications, wait_seconds(asked_wait, 0.0)


def read_item(item: object, known: Sequence[str] = ITEM_FIELDS) -> Item:
    """What its values are is judged as for one message; a null and an absent value are the same."""
    if not isinstance(item, Mapping):
        raise ValidationError('Each message must be an object such as {"message": "Hello"}.')
    return known_fields(item, known)


async def notify_together(
    items: Sequence[object], notify: Notify, mint: Callable[[], str], known: Sequence[str] = ITEM_FIELDS
) -> dict[str, Any]:
    def work(item: object) -> Callable[[], Awaitable[dict[str, Any]]]:
        async def answered() -> dict[str, Any]:
            try:
                asked = read_item(item, known)
            except ValidationError as error:
                return argument_error(error)
            return await notify(asked)

        return answered

    answers = await together([work(one) for one in items], mint)
    return {
        "results": [{"index": place, **answer} for place, answer in enumerate(answers)],
        "counts": dict(Counter(answer["status"] for answer in answers)),
    }
