"""Tools that answer with our errors."""

from __future__ import annotations

import inspect

import pytest

from postroom.kernel.serving.json_door import answered
from postroom.kernel.values.errors import ValidationError, error_sentence


@answered(error_sentence)
async def divide(number: int, by: int = 1) -> dict[str, float | str]:
    """Divide a number."""
    if by > number:
        raise ValidationError("by: is too large")
    return {"result": number / by}


async def test_an_error_of_ours_is_the_answer() -> None:
    assert (await divide(4, by=2), await divide(2, by=4)) == ({"result": 2.0}, {"error": "by: is too large"})


async def test_a_bug_is_no_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        await divide(1, by=0)


def test_the_tool_keeps_its_name_its_text_and_its_arguments() -> None:
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide a number.")
    assert list(inspect.signature(divide).parameters) == ["number", "by"]
