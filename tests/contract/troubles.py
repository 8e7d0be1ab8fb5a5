"""What any provider over HTTP may answer, or whatever stands before it, and what every channel makes of it."""

from __future__ import annotations

from collections.abc import Iterator

from postroom.kernel.values.errors import OutcomeUncertain, ProviderFailed, TargetUnavailable
from postroom.testing import Reply, Situation, Trouble, raw_reply

ELSEWHERE = "Location: http://127.0.0.1:1/elsewhere\r\n"
NOT_HTTP = Reply(raw=b"\x00\x01 hello\r\n\r\n", close=True)
CUT_OFF = Reply(raw=b"HTTP/1.1 503 X\r\nContent-Length: 500\r\n\r\n{", close=True)


def http_troubles(*, reads_answers: bool = True) -> Iterator[Situation]:
    """`reads_answers`: a good status is not enough to know that a message was taken."""
    for status in (500, 502, 504):
        yield Situation(id=f"unavailable/{status}", script=raw_reply(status, b"<html>"), raises=ProviderFailed)
    yield Situation(id="unavailable/503", script=raw_reply(503, b"<html>"), raises=TargetUnavailable)
    yield Situation(id="unavailable/explanation cut off", script=CUT_OFF, raises=TargetUnavailable)
    for status in (301, 302, 307, 308):
        moved = raw_reply(status, b"", headers=ELSEWHERE)
        yield Situation(id=f"unavailable/redirect {status}", script=moved, raises=TargetUnavailable)
    yield Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain)
    yield Situation(id="garbage/not HTTP", script=NOT_HTTP, raises=OutcomeUncertain)
    if reads_answers:
        nested = raw_reply(200, b"[" * 100_000)
        yield Situation(id="garbage/deeply nested", script=nested, raises=OutcomeUncertain)
