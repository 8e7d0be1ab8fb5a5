"""The person behind a request, who is the only one whose inbox it can touch."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException

from postroom.guard.depends import Caller
from postroom.inbox.owner import inbox_of


def person_of(caller: Caller) -> str:
    user_id = inbox_of(caller)
    if user_id is None:
        raise HTTPException(403, f"{caller} has no inbox")
    return user_id


Person = Annotated[str, Depends(person_of)]
