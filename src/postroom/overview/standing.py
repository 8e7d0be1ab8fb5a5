"""`postroom` alone: what runs here, what waits, and what to do next; quickly imported."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from postroom.kernel.running.terminal import say, say_json, typed_name
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import OPERATOR
from postroom.kernel.values.zones import relative
from postroom.settings.connections import Caller, Connection, NoHousehold
from postroom.settings.glance import SettingsGlance, glance_from_process

_SECONDS: Final = 3.0
_NEXT: Final = {
    "questions": "postroom asks --mine --status open",
    "approvals": "postroom approvals list",
    "unread": "postroom login",
    "held": "postroom attention plan",
    "dead_letters": "postroom login",
}
_WORDS: Final = {
    "questions": ("question waits for your answer", "questions wait for your answer"),
    "approvals": ("message waits for approval", "messages wait for approval"),
    "unread": ("unread note in your inbox", "unread notes in your inbox"),
    "held": ("notice held for a better moment", "notices held for a better moment"),
    "dead_letters": ("dead letter, on the console", "dead letters, on the console"),
}
_START: Final = {
    "postroom up": "start one; without credentials it is a sandbox, and nothing leaves this machine",
    "postroom connect claude": "connect a coding agent, also codex, gemini, cursor …",
    "postroom --help": "every command",
}
_QUIET: Final = {
    'postroom notify "Hello"': "send yourself a message",
    "postroom connect --list": "which agents are connected",
    "postroom login": "open the console",
    "postroom --help": "every command",
}
_ELSEWHERE: Final = {
    'postroom notify "Hello"': "send yourself a message",
    "postroom --help": "every command",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHousehold:
    """`home` is None of a household elsewhere; `told` is its own answer, if there was one."""

    url: str
    home: Path | None
    running: bool = False
    told: Document = field(default_factory=dict)
    problem: str | None = None

    @property
    def waiting(self) -> dict[str, int | None]:
        return dict(self.told.get("waiting") or {})

    @property
    def failing(self) -> list[dict[str, str]]:
        return list(self.told.get("channels_failing") or [])

    @property
    def next(self) -> dict[str, str]:
        """Commands, each with what it is for."""
        if not self.running:
            return _START if self.home else _ELSEWHERE
        wait = {_NEXT[name]: _counted(name, many) for name, many in self.waiting.items() if name in _NEXT and many}
        wait |= {"postroom channels": "what each channel says"} if self.failing else {}
        return wait or (_QUIET if self.home else _ELSEWHERE)


def show_standing(home: str | None, as_json: bool) -> None:
    seen = look(glance_from_process({"home": home}), home)
    if as_json:
        say_json(document(seen))
        return
    for line in lines(seen):
        say(line)


def look(settings: SettingsGlance, home: str | None = None) -> SeenHousehold:
    if settings.url and settings.token and not home:
        url = settings.url.rstrip("/")
        return _asked(SeenHousehold(url=url, home=None), settings.token.reveal())
    from postroom.kernel.guard.tokens import TokenFile

    here = SeenHousehold(url=settings.own_api_url, home=settings.home)
    return _asked(here, TokenFile(settings.tokens_file).token_of(OPERATOR) or "")


def _asked(seen: SeenHousehold, token: str) -> SeenHousehold:
    try:
        status, told = Caller(Connection(url=seen.url, token=token)).call(
            "GET", "/v1/household", timeout_seconds=_SECONDS
        )
    except NoHousehold as error:
        return SeenHousehold(url=seen.url, home=seen.home, problem=_silence(str(error)))
    if status == 200:
        return SeenHousehold(url=seen.url, home=seen.home, running=True, told=told)
    return SeenHousehold(url=seen.url, home=seen.home, running=True, problem=_refusal(status, seen.home))


def _silence(kind: str) -> str:
    if kind == "TimeoutError":
        return f"something listens there and did not answer within {_SECONDS:.0f} s; `postroom doctor` looks closer"
    return "nothing answers at its address" if kind != "no object" else "what answers there is no household"


def _refusal(status: int, home: Path | None) -> str:
    match status:
        case 401 if home:
            return f"it does not know the token of {home}, so it is another home's; name its own with --home"
        case 401:
            return "it does not know POSTROOM_TOKEN; `postroom token create` there makes another"
        case 403:
            return "POSTROOM_TOKEN is an agent's, and what waits is shown to people only"
        case 404:
            return "it is older than this command and does not say what waits; restart it with `postroom up`"
        case _:
            return f"it answered {status}; `postroom doctor` looks closer"


def document(seen: SeenHousehold) -> Document:
    told = seen.told
    return {
        "running": seen.running,
        "url": seen.url,
        "home": str(seen.home) if seen.home else None,
        "version": told.get("version"),
        "sandbox": told.get("sandbox"),
        "started_at": told.get("started_at"),
        "waiting": told.get("waiting"),
        "channels_failing": seen.failing,
        "problem": seen.problem,
        "next": list(seen.next),
    }


def lines(seen: SeenHousehold) -> Iterator[str]:
    yield _first(seen)
    if seen.home:
        yield f"  home     {seen.home}"
    yield f"  address  {seen.url}"
    if seen.running and not seen.problem:
        yield from _waits(seen)
    yield ""
    own = typed_name()
    following = {f"{own}{command.removeprefix('postroom')}": what for command, what in seen.next.items()}
    width = max(map(len, following))
    yield from (f"  {command:<{width}}  {what}" for command, what in following.items())
    if "postroom --help" not in seen.next:
        yield f"\n`{own} login` opens the console; `{own} --help` lists every command."


def _first(seen: SeenHousehold) -> str:
    where = "here" if seen.home else "at POSTROOM_URL"
    if not seen.running:
        return f"No household runs {where}: {seen.problem}."
    if seen.problem:
        return f"A household runs {where}, but {seen.problem}."
    at = seen.told.get("started_at")
    since = f", started {relative(parse_text(at), time.time_ns() // 1_000)}" if at else ""
    machine = "this" if seen.home else "that"
    kind = f"as a sandbox: nothing leaves {machine} machine" if seen.told.get("sandbox") else "live"
    return f"Postroom {seen.told.get('version')} runs {where}{since}, {kind}."


def _waits(seen: SeenHousehold) -> Iterator[str]:
    yield ""
    for one in seen.failing:
        yield f"{one['name']} does not work: {one['reason']}."
    unknown = [name for name, many in seen.waiting.items() if many is None and name == "questions"]
    if unknown:
        yield "What waits could not be counted: the database does not answer. `postroom doctor` looks closer."
    elif any(seen.waiting.values()):
        yield "What waits:"
    else:
        yield "Nothing waits for you. You could:"


def _counted(name: str, many: int) -> str:
    one, several = _WORDS[name]
    return f"{many:,} {one if many == 1 else several}"
