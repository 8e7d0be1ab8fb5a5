"""What the Tab key offers: the household's own names and ids, known within half a second or not offered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typer._click import Context

Offered = list[tuple[str, str]]
Offer = Callable[["Context", str], Offered]

_SECONDS: Final = 0.5
_MOST: Final = 30
_SAFE: Final = re.compile(r"[\w@.+-]+")  # zsh evaluates what is offered, so nothing else is
_UNSAFE: Final = re.compile(r"[^\w .,-]+")


def offering(*words: str) -> Offer:
    return lambda _context, incomplete: begun(((word, "") for word in words), incomplete)


def people(context: Context, incomplete: str) -> Offered:
    """By a name that is one word, or else by id."""
    found = _asked(context, "/v1/people", "people")
    return begun((_person(one) for one in found), incomplete)


def questions(context: Context, incomplete: str) -> Offered:
    found = _asked(context, "/v1/asks?status=open&limit=30", "asks")
    return begun(((one["ask_id"], one["asked"]["question"]) for one in found), incomplete)


def deliveries(context: Context, incomplete: str) -> Offered:
    """What was last sent to the owner."""
    found = _asked(context, "/v1/people/owner/history?limit=30", "history")
    return begun(((one["id"], str(one["excerpt"])) for one in found if one["kind"] == "delivery"), incomplete)


def notices(context: Context, incomplete: str) -> Offered:
    found = _asked(context, "/v1/notices?limit=30", "notices")
    return begun(((one["notice_id"], str(one["agent"])) for one in found), incomplete)


def approvals(context: Context, incomplete: str) -> Offered:
    found = _asked(context, "/v1/approvals?limit=30", "actions")
    return begun(((one["action_id"], str(one["recipient"])) for one in found), incomplete)


def channels(context: Context, incomplete: str) -> Offered:
    return begun(((name, "") for name in sorted(_glance(context).channels)), incomplete)


def butlers(context: Context, incomplete: str) -> Offered:
    roster = _glance(context).roster
    return begun(((file.parent.name, "") for file in sorted(roster.glob("*/butler.toml"))), incomplete)


def tokens(context: Context, incomplete: str) -> Offered:
    from postroom.doors.guard.tokens import TokenFile

    held = TokenFile(_glance(context).tokens_file).held()
    return begun(((one.id, str(one.principal)) for one in held), incomplete)


def begun(found: Iterable[tuple[str, str]], incomplete: str) -> Offered:
    """What begins so and cannot be taken for anything but a word; of the explanation, what is harmless."""
    fitting = ((word, about) for word, about in found if word.startswith(incomplete) and _SAFE.fullmatch(word))
    return [(word, _UNSAFE.sub(" ", about).strip()[:60]) for word, about in fitting][:_MOST]


def _person(one: dict[str, Any]) -> tuple[str, str]:
    name = str(one["name"])
    return (name, str(one["role"])) if _SAFE.fullmatch(name) else (str(one["person_id"]), name)


def _glance(context: Context) -> Any:
    from postroom.system.settings.glance import glance_from_process

    return glance_from_process({"home": context.params.get("home")})


def _asked(context: Context, path: str, kind: str) -> Iterator[dict[str, Any]]:
    """Nothing when the household does not answer at once: a person is waiting for the next key."""
    from postroom.domain.errors import UserError
    from postroom.domain.principal import OPERATOR
    from postroom.doors.guard.tokens import TokenFile
    from postroom.programs.connections import Connection
    from postroom.programs.small_http import Caller, NoHousehold

    try:
        settings = _glance(context)
        there = settings.url and settings.token and not context.params.get("home")
        token = settings.token.reveal() if there else TokenFile(settings.tokens_file).token_of(OPERATOR)
        url = settings.url.rstrip("/") if there else settings.own_api_url
        connection = Connection(url=url, token=token or "")
        status, told = Caller(connection).call("GET", path, timeout_seconds=_SECONDS)
    except (NoHousehold, UserError):
        return
    if status == 200 and isinstance(found := told.get(kind), list):
        yield from found
