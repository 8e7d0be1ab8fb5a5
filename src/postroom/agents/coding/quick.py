"""`postroom hook` and `postroom bridge`, which clients start often: without the tree of all commands."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

HOOK: Final = "hook"
BRIDGE: Final = "bridge"
DEFAULT_WAIT_SECONDS: Final = 300
_MOST_CHARACTERS: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickCommand:
    """The command line of either."""

    client: str
    home: str | None = None
    wait_seconds: float = DEFAULT_WAIT_SECONDS
    finished: bool = False
    defer: bool = False
    payload: str | None = None  # what Codex's `notify` puts at the end


def quickly(arguments: Sequence[str]) -> bool:
    """Whether this command line was one of the two; others, and those that ask for help, are for the tree."""
    if arguments[:1] not in ([HOOK], [BRIDGE]) or "--help" in arguments:
        return False
    said = understood(arguments[1:])
    if said is None:
        return False
    run_hook(said) if arguments[0] == HOOK else run_bridge(said)
    return True


def understood(words: Sequence[str]) -> QuickCommand | None:
    """None for what is not as it should be, so that it is explained elsewhere."""
    given: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, is_joined, value = word.partition("=")
        if name in ("--home", "--wait-seconds") and (is_joined or rest):
            given[name[2:].replace("-", "_")] = value if is_joined else rest.pop(0)
        elif word in ("--finished", "--defer"):
            given[word[2:]] = True
        elif word.startswith("{") and "client" in given:
            given["payload"] = word
        elif word.startswith("-") or "client" in given:
            return None
        else:
            given["client"] = word
    try:
        seconds = float(given.pop("wait_seconds", DEFAULT_WAIT_SECONDS))
    except ValueError:
        return None
    return QuickCommand(**given, wait_seconds=min(max(seconds, 0.0), 86_400.0)) if "client" in given else None


def run_hook(said: QuickCommand) -> None:
    """Ends well whatever happens: an error would be an answer to some clients."""
    try:
        answer = _heard(said)
        sys.stdout.write(answer)
        sys.stdout.flush()
    except BaseException as error:  # a hook never stands in its client's way
        sys.stderr.write(f"postroom hook: {type(error).__name__}\n")
    os._exit(0)


def run_bridge(said: QuickCommand) -> None:
    from postroom.agents.coding.bridge import run
    from postroom.kernel.values.errors import UserError
    from postroom.settings.connections import connection_of, home_of

    connection = connection_of(home_of(os.environ, said.home), said.client)
    if connection is None:
        raise UserError(f"{said.client} is not connected here: `postroom connect {said.client}` does it.")
    run(connection)


def _heard(said: QuickCommand) -> str:
    from postroom.agents.coding.hook import Hook
    from postroom.agents.coding.phone import SILENCE_SECONDS, PersonAsker
    from postroom.kernel.text.visible import reveal
    from postroom.settings.connections import Caller, connection_of, home_of

    home = home_of(os.environ, said.home)
    connection = connection_of(home, said.client)
    if connection is None:
        return ""
    _stop_kindly()
    silence = math.inf if said.defer else SILENCE_SECONDS  # without a screen nothing asks in our place
    phone = PersonAsker(caller=Caller(connection), wait_seconds=said.wait_seconds, silence_seconds=silence)
    one = Hook(home=home, phone=phone, reveal=reveal, finished=said.finished, defer=said.defer)
    return one.heard(said.client, _payload(said))


def _payload(said: QuickCommand) -> str:
    if said.payload is not None:
        return said.payload
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read(_MOST_CHARACTERS).decode("utf-8", "replace")


def _stop_kindly() -> None:
    """What is asked is taken back before we go."""
    import signal

    from postroom.agents.coding.phone import Stopped

    def stop(_signal: int, _frame: object) -> None:
        raise Stopped

    for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(one, stop)
