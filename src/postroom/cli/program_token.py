"""The token that a client's program calls with: made on the first connect, and used again."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from postroom.domain.principal import OWNER, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.programs.connections import Connection, changing, connection_of
from postroom.system.settings.glance import SettingsGlance

_OF_PEOPLE = ("pr_person_", "pr_user_", "pr_operator_")


def ensure_connection(settings: SettingsGlance, program: str, serves: str) -> Connection:
    """Noted where the program finds it; a token of this household that still counts is kept."""
    made = _elsewhere(settings, program) or _here(settings, program, serves)
    with changing(settings.home) as document:
        document["programs"][program] = {"url": made.url, "token": made.token}
    return made


def forget_connection(settings: SettingsGlance, program: str) -> bool:
    """Its token counts no more, when it is one of this machine's household."""
    from postroom.doors.guard.token_document import token_id
    from postroom.doors.guard.tokens import TokenFile

    known = connection_of(settings.home, program)
    if known is None:
        return False
    with changing(settings.home) as document:
        document["programs"].pop(program, None)
    return TokenFile(settings.tokens_file).revoke_one(token_id(known.token))


def _elsewhere(settings: SettingsGlance, program: str) -> Connection | None:
    token = settings.token.reveal() if settings.url and settings.token else ""
    if not token:
        return None
    if token.startswith(_OF_PEOPLE):
        raise SettingsError(
            "POSTROOM_TOKEN is a person's, and one who asks cannot answer. At the household: "
            f"postroom token create --program {program} --for owner --label {_host()}"
        )
    return Connection(url=settings.url.rstrip("/"), token=token)


def _here(settings: SettingsGlance, program: str, serves: str) -> Connection:
    from postroom.doors.guard.tokens import TokenFile

    tokens, url = TokenFile(settings.tokens_file), settings.own_api_url
    known = connection_of(settings.home, program)
    held = next((one for one in tokens.held() if known and one.token == known.token), None)
    principal = Principal(Role.PROGRAM, program, person=_person(settings.home, serves))
    if held is not None and held.principal == principal:
        return Connection(url=url, token=held.token)
    return Connection(url=url, token=tokens.create(principal, label=_host()))


def _person(home: Path, serves: str) -> str:
    if serves == OWNER:
        return OWNER
    import asyncio

    from postroom.app.known_person import id_of
    from postroom.system.settings.load import from_process

    settings, _ = from_process({"home": str(home)})
    found = asyncio.run(id_of(settings, serves))
    if found is None:
        raise SettingsError(f"'{serves}' is not known here; `postroom people list` shows who is.")
    return found


def _host() -> str:
    return os.environ.get("HOSTNAME") or socket.gethostname()
