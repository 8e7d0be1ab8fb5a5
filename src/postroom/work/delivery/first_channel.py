"""The channel of a message that names none."""

from __future__ import annotations

from postroom.domain.capabilities import KnownChannels
from postroom.domain.fields import text_problem
from postroom.domain.seams import AddressBook


async def first_channel(recipient: object, book: AddressBook, channels: KnownChannels) -> str:
    """The first that reaches the recipient; when none does, the first, whose refusal says what is wrong."""
    named = recipient if isinstance(recipient, str) and text_problem(recipient) is None else None
    for name in channels:
        if recipient is None:
            reached = await book.owner(name) is not None
        else:
            reached = named is not None and bool(await book.addresses(named, name))
        if reached:
            return name
    looks_like_mail = isinstance(recipient, str) and "@" in recipient.strip()[1:]
    letters = [name for name, can in channels.items() if can.style == "letter"] if looks_like_mail else []
    return next(iter([*letters, *channels]))
