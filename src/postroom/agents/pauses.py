"""Runs that nobody keeps: their state travels with the first question of each pause, and is found there again."""

from __future__ import annotations

import asyncio
import base64
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from postroom.agents.asks import HouseholdAsks, key_of

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PausingRun(Generic[Result]):
    """How a framework starts, what it leaves behind when it pauses, what it then asks, and how it goes on."""

    start: Callable[[], Awaitable[Result]]
    saved: Callable[[Result], str | None]  # None once it is over
    questions: Callable[[str], Awaitable[Sequence[Mapping[str, Any]]]]  # about what was saved, always in one order
    resume: Callable[[str, Sequence[Any]], Awaitable[Result]]  # with the answers in that order


async def drive_run(run: PausingRun[Result], asks: HouseholdAsks, *name: str) -> Result:
    """A run that a process left behind goes on at its last pause; what it did before that is not done again."""
    number, saved = await _last(asks, name)
    if saved is None:
        result = await run.start()
        saved = run.saved(result)
    while saved is not None:
        questions = [(key_of(*name, number, place), one) for place, one in enumerate(await run.questions(saved))]
        result = await run.resume(saved, await _answers(asks, saved, questions))
        number, saved = number + 1, run.saved(result)
    return result


async def _last(asks: HouseholdAsks, name: tuple[str, ...]) -> tuple[int, str | None]:
    number, saved = 0, None
    while (ask := await asks.under(key_of(*name, number, 0))) is not None:
        number, saved = number + 1, _unpacked(ask["state"])
    return max(number - 1, 0), saved


async def _answers(asks: HouseholdAsks, saved: str, questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
    """The first is stored before the others are asked: without it no process would know of them."""
    key, first = questions[0]
    await asks.opened(key, {**first, "state": _packed(saved)})
    return list(await asyncio.gather(*(_answered(asks, *one) for one in questions)))


async def _answered(asks: HouseholdAsks, key: str, question: Mapping[str, Any]) -> Any:
    if question.get("kind") == "approve":
        return await asks.approval(key, question)
    return await asks.answer(key, question)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()
