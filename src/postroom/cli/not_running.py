"""The household that a command needs is not there."""

from __future__ import annotations

from pathlib import Path

from postroom.domain.errors import UserError


class NotRunning(UserError):
    code = "not_running"

    def __init__(self, told: str) -> None:
        super().__init__(f"{told}: is the household running? `postroom up` starts it.")


def no_owner_token(tokens_file: Path) -> NotRunning:
    return NotRunning(f"{tokens_file} holds no token of the owner")
