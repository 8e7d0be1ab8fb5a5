"""The situations that every channel is put into, each as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STANDARD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accepted": "The provider takes the message: one call, and a receipt.",
        "held": "The provider takes its time: the channel waits, and makes no second call.",
        "refused-for-ever": "The provider says that this message can never be delivered: ValidationError.",
        "refused-quoting-us": "Its refusal quotes the message and our credentials: neither appears in the error.",
        "credentials": "The provider does not accept our credentials: TargetUnavailable, no fault of the message.",
        "throttled-seconds": "429 with Retry-After in seconds: ProviderThrottled with that wait.",
        "throttled-date": "429 with Retry-After as an HTTP date: ProviderThrottled with the time until then.",
        "throttled-float": "429 with a broken number of seconds in the body: ProviderThrottled with that wait.",
        "throttled-milliseconds": "429 with milliseconds in the body: ProviderThrottled with that wait in seconds.",
        "throttled-day": "429 for a whole day: ProviderThrottled, and the next try is an hour to a day away.",
        "throttled-skewed": "429 until a date that our clock has passed: ProviderThrottled, the wait is not negative.",
        "throttled-otherwise": "A throttle under another name than 429: not a fault of the message.",
        "error-inside": "Status 200 with an error inside: no receipt.",
        "broken-500": "The provider had everything and broke (500): ProviderFailed, for it may have been sent.",
        "unavailable-503": "The provider is away (503): not sent, try again.",
        "connection-refused": "Nothing listens there: TargetUnavailable, not sent.",
        "unknown-host": "The provider's name cannot be looked up: not sent.",
        "handshake-cut": "The line is cut inside the TLS handshake: not sent.",
        "reset-before-reading": "The line is reset before the provider has read the message.",
        "read-then-reset": "The provider reads the message and resets the line: OutcomeUncertain, no second call.",
        "read-then-silence": "The provider reads the message and says nothing: OutcomeUncertain at the deadline.",
        "cut-in-head": "The answer ends inside its first lines: OutcomeUncertain.",
        "cut-in-content": "The answer ends inside its content: OutcomeUncertain.",
        "wrong-length": "The answer names a length that is too short for its content: OutcomeUncertain.",
        "drip": "A complete answer that comes a few bytes at a time is a complete answer.",
        "drip-past-deadline": "An answer that drips past the deadline of the whole call: OutcomeUncertain, then.",
        "early-refusal": "The provider refuses before it has read everything: the refusal counts.",
        "old-protocol": "The provider answers in HTTP/1.0 and closes the line: a receipt.",
        "early-hints": "A provisional answer (1xx) comes before the answer: a receipt, and no second call.",
        "swollen": "The answer unpacks to a hundred times its size: it is not read to the end, OutcomeUncertain.",
        "redirect": "The provider redirects elsewhere: not followed, so the message and our credentials stay here.",
        "reused-connection": "A connection kept from before is closed on reuse: OutcomeUncertain, no silent repeat.",
        "not-json": "The answer is a page for people: OutcomeUncertain.",
        "other-shape": "The answer has another shape than documented: OutcomeUncertain.",
        "missing-id": "Taken, but the answer names no message: OutcomeUncertain.",
        "same-id": "Two messages get the same id: both calls are made, and each has its receipt.",
        "credentials-expire": "Our credentials expire between two messages, and are accepted again for a third.",
        "cancelled": "A send that is cancelled stays cancelled, and is not repeated.",
        "close-while-sending": "The channel is closed while the provider has the message: never said to be not sent.",
        "many-at-once": "Twenty messages at once: each is sent once.",
    }
)
