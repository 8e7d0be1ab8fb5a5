"""What every JSON door asks of a body: the fields it knows, of the types it says, in text that can be kept."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from postroom.domain.fields import text_problem


def _keepable(value: str) -> str:
    if problem := text_problem(value):
        raise ValueError(problem)
    return value


Text = Annotated[str, AfterValidator(_keepable)]
Agent = Annotated[Text, Field(min_length=3, max_length=255, examples=["agent://household/owner"])]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Done(BaseModel):
    ok: bool
