"""What the plane's answer means for an e-mail of the inbox."""

from __future__ import annotations

from typing import Final

from postroom.domain.email_copy import Ending, GivenUp, HandedOver, TryAgain
from postroom.domain.errors import ValidationError
from postroom.domain.outcome import Outcome
from postroom.domain.time import seconds

_LONGEST_PAUSE_SECONDS: Final = 900.0
_MOST_ATTEMPTS: Final = 100  # about a day at the longest pause


def ending_of(outcome: Outcome, attempts: int, now_us: int) -> Ending:
    """The plane keeps whatever it accepted; from here on only a refusal is ours to deal with."""
    error = outcome.error
    if error is None or outcome.delivery_id is not None:
        return HandedOver(outcome.delivery_id)
    if isinstance(error, ValidationError) and any(one.code == "key_reused" for one in error.fields):
        return HandedOver(None)  # accepted before, in words an earlier version of us chose
    reason = str(error.error_class)
    if not outcome.retryable or attempts + 1 >= _MOST_ATTEMPTS:
        return GivenUp(reason)
    pause = max(min(2.0**attempts, _LONGEST_PAUSE_SECONDS), error.retry_after_seconds or 0.0)
    return TryAgain(now_us + seconds(pause), reason)
