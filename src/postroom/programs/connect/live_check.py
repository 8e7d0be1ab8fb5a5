"""Whether a connected client would reach its household now."""

from __future__ import annotations

from postroom.programs.connections import Connection
from postroom.programs.small_http import Caller, NoHousehold

_SECONDS = 5.0


def answers(connection: Connection | None) -> str | None:
    """None when it does; else what is wrong, in a few words."""
    if connection is None:
        return "has no token here"
    caller = Caller(connection)
    try:
        status, _ = caller.call("GET", "/v1/asks?limit=1", timeout_seconds=_SECONDS)
    except NoHousehold:
        return f"no household answers at {connection.url}"
    if status in (401, 403):
        return "its token is not valid any more: connect it again"
    return None if status == 200 else f"{connection.url} answers {status}: is that a household's API port?"
