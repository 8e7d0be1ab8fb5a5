"""What every program that runs a model has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from postroom.domain.transcript import Transcript

TOKEN_VARIABLE: Final = "POSTROOM_SESSION_TOKEN"  # noqa: S105  # the name of a variable, not a secret
SESSION_VARIABLE: Final = "POSTROOM_SESSION_ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    One session, as a runtime needs to know it.

    `server` is the butler's name, under which the model sees the only MCP server
    it has. `credentials` are the variables the household declared for this
    program, and `arguments` what the butler's file adds to its command line.
    """

    session_id: str
    prompt: str = field(repr=False)
    server: str
    mcp_url: str
    token: str = field(repr=False)
    home: Path
    work: Path
    timeout_seconds: float
    model: str | None = None
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """
    A program to start: the prompt goes through `stdin` and the token through the
    environment, because a command line can be read by everybody on the machine.
    """

    argv: Sequence[str]
    stdin: str = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    work: Path
    files: Mapping[Path, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended, and what it printed."""

    exit_code: int | None
    timed_out: bool
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)


class Programs(Protocol):
    """Runs what a runtime launches, and leaves nothing of it behind."""

    async def run(self, launch: Launch, *, timeout_seconds: float, secrets: Sequence[str]) -> Ended: ...

    async def clear(self, session_id: str) -> None: ...


class Runtime(Protocol):
    """Both methods are pure; starting the program is `process.run`."""

    @property
    def name(self) -> str: ...

    @property
    def credential_names(self) -> tuple[str, ...]:
        """The variables this program may be given; it sees no others of ours."""
        ...

    def launch(self, order: Order) -> Launch: ...

    def read(self, output: bytes) -> Transcript: ...


def environment(order: Order, allowed: tuple[str, ...], **more: str) -> dict[str, str]:
    """Nothing is inherited; PATH is added by whoever starts the program."""
    return {
        **{name: value for name, value in order.credentials.items() if name in allowed},
        **more,
        "HOME": str(order.home),
        "TMPDIR": str(order.work),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        TOKEN_VARIABLE: order.token,
        SESSION_VARIABLE: order.session_id,
    }
