"""A tool that answers with our errors: a refusal is something a model can act on, not a broken call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from postroom.domain.errors import PostroomError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Tool = Callable[Arguments, Awaitable[Answer]]
AnsweringTool = Callable[Arguments, Coroutine[Any, Any, Answer]]


def answered(
    shape: Callable[[PostroomError], Mapping[str, Any]],
) -> Callable[[Tool[Arguments, Answer]], AnsweringTool[Arguments, Answer]]:
    def around(tool: Tool[Arguments, Answer]) -> AnsweringTool[Arguments, Answer]:
        @wraps(tool)
        async def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            try:
                return await tool(*args, **kwargs)
            except PostroomError as error:
                return cast(Answer, shape(error))

        return answer

    return around
