"""Send, and hold what came of it against what may come of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from postroom.domain import errors
from postroom.domain.delivery import Receipt
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.ports import Channel
from postroom.testing.case import Case, Place
from postroom.testing.check import ensure
from postroom.testing.overheard import Overheard, everything_said
from postroom.testing.situation import Ending, Endings

PATIENCE_SECONDS: Final = 15.0
Ended = Receipt | BaseException


@asynccontextmanager
async def connected(case: Case, place: Place) -> AsyncIterator[Channel]:
    """Within bounds: a channel that never comes back fails, and does not stop the suite."""
    channel = case.connect(place)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                yield channel
            finally:
                await channel.close()
    except TimeoutError:
        raise AssertionError(f"nothing came back within {PATIENCE_SECONDS:.0f} seconds") from None


async def attempt(channel: Channel, part: Any, timeout_seconds: float) -> Ended:
    """What is no error of ours is kept too, to be shown as what it is."""
    try:
        return await channel.send(part, timeout_seconds)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        return error


def ensure_ended(outcome: Ended, allowed: Endings) -> None:
    endings = allowed if isinstance(allowed, tuple) else (allowed,)
    ensure(_kind(outcome) in endings, f"expected {_named(endings)}, and {_told(outcome)}")
    if isinstance(outcome, Receipt):
        ensure(outcome.provider_id and isinstance(outcome.provider_id, str), "the receipt names no message")
    if isinstance(outcome, PostroomError):
        fair = not isinstance(outcome, ValidationError)
        ensure(outcome.retryable is fair, f"{type(outcome).__name__} must {'' if fair else 'not '}be retryable")


def ensure_wait(outcome: Ended, asked: float | tuple[float, float] | None) -> None:
    if not isinstance(outcome, PostroomError) or asked is None:
        return
    least, most = asked if isinstance(asked, tuple) else (asked, asked)
    wait = outcome.retry_after_seconds
    ensure(wait is not None and least <= wait <= most, f"it is to wait {least:g} to {most:g} seconds, and says {wait}")


def ensure_discreet(case: Case, outcome: Ended, heard: Overheard) -> None:
    said = [heard.text, *(everything_said(outcome) if isinstance(outcome, BaseException) else [repr(outcome)])]
    leaked = [secret for secret in case.secrets if any(secret in text for text in said)]
    ensure(not leaked, "a secret appears in an error or a log")
    ensure(not any(case.text in text for text in said), "the message appears in an error or a log")


def _kind(outcome: Ended) -> object:
    """The nearest class of ours: an author may derive from them."""
    if isinstance(outcome, Receipt):
        return None
    if isinstance(outcome, errors.CredentialsRefused):
        return errors.TargetUnavailable  # the one says more than the other; a channel may say either
    return next((one for one in type(outcome).__mro__ if one.__module__ == errors.__name__), type(outcome))


def _named(endings: tuple[Ending, ...]) -> str:
    return " or ".join("a receipt" if one is None else one.__name__ for one in endings)


def _told(outcome: Ended) -> str:
    if isinstance(outcome, Receipt):
        return "a receipt came back"
    if isinstance(outcome, PostroomError):
        return f"{type(outcome).__name__} was raised"
    last = traceback.extract_tb(outcome.__traceback__)[-1:]
    place = f" at {last[0].name}:{last[0].lineno}" if last else ""
    return f"{type(outcome).__name__} was raised{place}, which is no error of ours"
