"""Whose inbox a request may read, and whose it may change."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException

from postroom.doors.guard.depends import Caller
from postroom.work.inbox.owner import inbox_of


def person_of(caller: Caller) -> str:
    user_id = inbox_of(caller)
    if user_id is None:
        raise HTTPException(403, f"{caller} has no inbox")
    return user_id


def myself(caller: Caller) -> str:
    """A program reads its person's inbox and writes to it; what is done about the notes there is that person's."""
    if not caller.is_person:
        raise HTTPException(403, f"{caller} may read this inbox and write to it, but not change it")
    return person_of(caller)


Person = Annotated[str, Depends(person_of)]
Myself = Annotated[str, Depends(myself)]
