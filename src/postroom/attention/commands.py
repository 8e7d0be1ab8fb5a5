"""`postroom attention`: when people are shown what agents have to say."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar
from urllib.parse import urlencode

import typer

from postroom.attention.rules.policy import LONGEST_ABSENCE
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Database, Home, Json, bar, say, say_json, seconds_of
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import OWNER
from postroom.kernel.values.zones import said_moment
from postroom.message.wishes import because
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.model import machine_zone
from postroom.settings.reach import Elsewhere, ElsewhereError, elsewhere, path_of

if TYPE_CHECKING:
    from postroom.attention.acts import AttentionActs
    from postroom.kernel.values.principal import Principal

app = typer.Typer(
    help="When people are shown what agents have to say, and what will happen to it.", no_args_is_help=True
)
_OWNER = "owner"
_NEXT = 5
Who = Annotated[str, typer.Argument(metavar="PERSON", help="A name, an alias or an id; the owner by default.")]
_NOTICE_ID = "The id that the answer of `notify` named."
_Notice = Annotated[str, typer.Argument(metavar="NOTICE", help=_NOTICE_ID)]
For = Annotated[str | None, typer.Option("--for", help="How long: 30m, 2h, 1d; an hour by default.")]
Until = Annotated[str | None, typer.Option("--until", help="Until when, such as 2026-01-05T09:00:00+01:00.")]
Document = dict[str, Any]
Result = TypeVar("Result")


@app.command("show")
def show(who: Who = _OWNER, home: Home = None, database: Database = None, json: Json = False) -> None:
    """The policy that counts for a person, where their notices are, and what happens next."""
    desk = _desk(home, database)
    policy, figures, plan = desk.policy(who), desk.figures(who), desk.person_plan(who)
    if json:
        say_json({**policy, "figures": figures, "plan": plan})
        return
    zone = desk.zone()
    for line in [
        *_policy_lines(policy, zone),
        _figures_line(figures),
        *(_plan_line(one, zone) for one in plan[:_NEXT]),
    ]:
        say(line)


@app.command("set")
def set_policy(
    who: Who = _OWNER,
    file: Annotated[Path | None, typer.Option("--file", help="A policy in TOML, instead of the one there is.")] = None,
    preset: Annotated[str | None, typer.Option("--preset", help="everything, calm or focus; the rest stays.")] = None,
    quiet: Annotated[
        list[str] | None, typer.Option("--quiet", help="Quiet hours, 22:00-07:00; may be given again. The rest stays.")
    ] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="Time zone of these hours, such as Europe/Vienna.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take the person's own policy away.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Set a person's policy; what is held is judged anew at once."""
    changes = _changes(preset, quiet, zone)
    if sum((file is not None, bool(changes), clear)) != 1:
        raise SettingsError("Give --file, or --clear, or any of --preset, --quiet and --zone.")
    desk = _desk(home, database)
    if clear:
        answer = desk.set_policy(who, None)
    elif file is not None:
        answer = desk.set_policy(who, _read_policy_file(file))
    else:
        answer = desk.set_policy(who, {**(desk.policy(who)["policy"] or {}), **changes})
    _say(answer, json, *(() if json else _policy_lines(answer, desk.zone())))


@app.command("plan")
def plan(
    what: Annotated[str, typer.Argument(metavar="[NOTICE|PERSON]", help="The owner by default.")] = _OWNER,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """What will happen if no one does anything."""
    from postroom.attention.model import is_notice_id

    desk = _desk(home, database)
    items = desk.notice_plan(what) if is_notice_id(what) else desk.person_plan(what)
    if json:
        say_json({"plan": items})
        return
    zone = desk.zone() if items else ""
    for item in items:
        say(_plan_line(item, zone))
    if not items:
        say("Nothing is going to happen.")


@app.command("simulate")
def simulate(
    policy: Annotated[Path, typer.Option("--policy", help="The other policy, in TOML.")],
    who: Who = _OWNER,
    replay: Annotated[str, typer.Option("--replay", help="How far back: 7d, 12h.")] = "7d",
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """What would have been different under another policy, over the notices that came; changes nothing."""
    other, seconds = _read_policy_file(policy), _seconds(replay, "--replay") or 0
    with bar("Replaying", quiet=json):
        answer = _desk(home, database).preview(who, other, seconds)
    _say(answer, json, *(answer["difference"] or ["Nothing would have been different."]))


@app.command("ack")
def ack(notice: _Notice, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Say that a notice was seen; nothing more is sent of it."""
    _act(_desk(home, database), notice, "ack", {}, json)


@app.command("snooze")
def snooze(
    notice: _Notice,
    length: For = None,
    until: Until = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Show a notice later."""
    _act(_desk(home, database), notice, "snooze", _when(length, until), json)


@app.command("withdraw")
def withdraw(
    notice: Annotated[str | None, typer.Argument(metavar="[NOTICE]", help=_NOTICE_ID)] = None,
    key: Annotated[str | None, typer.Option("--key", help="All that you sent with this --supersedes.")] = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Take a notice back, or all of a key of your own; what has not come yet is not shown when it does."""
    if (notice is None) == (key is None):
        raise SettingsError("Give a notice or --key.")
    if notice is not None:
        _act(_desk(home, database), notice, "withdraw", {}, json)
        return
    withdrawn = _desk(home, database).withdraw_key(key or "")
    lines = [f"{one['notice_id']}: {one['state']}" for one in withdrawn]
    _say({"notices": withdrawn}, json, *(lines or ["No notice has this key yet; one that comes is not shown."]))


@app.command("mute")
def mute(
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="A butler's or a program's name.")] = None,
    thread: Annotated[str | None, typer.Option("--thread")] = None,
    category: Annotated[str | None, typer.Option("--category")] = None,
    length: For = None,
    until: Annotated[str | None, typer.Option("--until", help="Until when; `unmuted`: until you unmute it.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Unmute.")] = False,
    who: Annotated[str, typer.Option("--person", help="Whose notices; the owner's by default.")] = _OWNER,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Show nothing of an agent, a thread or a category for a while."""
    what = _given(agent=agent, thread=thread, category=category)
    named = ", ".join(f"{name} {value}" for name, value in what.items())
    if off:
        _say(_desk(home, database).on_person(who, "unmute", what), json, f"No longer muted: {named}.")
        return
    desk = _desk(home, database)
    answer = desk.on_person(who, "mute", what | _when(length, until))
    ends = answer["until"] and not json and moment_words(answer["until"], desk.zone())
    _say(answer, json, f"Muted until {ends or 'it is unmuted'}: {named}.")


@app.command("away")
def away(
    who: Who = _OWNER,
    length: For = None,
    until: Until = None,
    delegate: Annotated[str | None, typer.Option("--delegate", help="Who stands in.")] = None,
    back: Annotated[bool, typer.Option("--back", help="No longer away.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Be away: notices wait, or go to the person who stands in."""
    asked: Document = {"back": True} if back else {"until": _end(length, until)} | _given(delegate=delegate)
    desk = _desk(home, database)
    answer = desk.on_person(who, "away", asked)
    ends = answer["away"] and not json and moment_words(answer["away"]["until"], desk.zone())
    _say(answer, json, f"Away until {ends}." if ends else "Back again.")


def _desk(home: str | None, database: str | None) -> AttentionDesk:
    settings, _ = from_process({"home": home, "database": database})
    return attention_desk(settings, home, database)


def _changes(preset: str | None, quiet: list[str] | None, zone: str | None) -> Document:
    windows = [_quiet_window(one) for one in quiet] if quiet else None
    return _given(preset=preset, quiet_hours=windows, zone=zone)


def _given(**values: Any) -> Document:
    return {name: value for name, value in values.items() if value is not None}


def _seconds(length: str | None, option: str) -> int | None:
    if length is None:
        return None
    if (wanted := seconds_of(length, option)) > LONGEST_ABSENCE:
        raise SettingsError(f"{option}: '{length}' is more than a year; write it like 90s, 15m, 1h or 2d.")
    return int(wanted)


def _when(length: str | None, until: str | None) -> Document:
    return _given(for_seconds=_seconds(length, "--for"), until=until)


def _end(length: str | None, until: str | None) -> str:
    from postroom.kernel.running.clock import SystemClock
    from postroom.kernel.values.ids import seconds, to_text

    if (length is None) == (until is None):
        raise SettingsError("Give --for or --until, or --back.")
    return until or to_text(SystemClock().now_us() + seconds(_seconds(length, "--for") or 0))


def _act(desk: AttentionDesk, notice_id: str, act: str, body: Document, json: bool) -> None:
    notice = desk.on_notice(notice_id, act, body)
    if notice["state"] not in ("held", "accepted"):
        _say(notice, json, str(notice["state"]))
    else:
        _say(notice, json, *(() if json else [held_sentence(notice["until"], notice["reasons"], desk.zone())]))


def _say(answer: Any, json: bool, *lines: str) -> None:
    if json:
        say_json(answer)
        return
    for line in lines:
        say(line)


# -- The notices a command speaks of: on this machine's database, or of a household elsewhere --


class AttentionDesk(Protocol):
    """Every document is as REST answers it."""

    def zone(self) -> str:
        """In which whoever asks is told of moments."""
        ...

    def policy(self, who: str) -> Document: ...

    def set_policy(self, who: str, policy: Document | None) -> Document: ...

    def figures(self, who: str) -> Document: ...

    def person_plan(self, who: str) -> list[Document]: ...

    def notice_plan(self, notice_id: str) -> list[Document]: ...

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document: ...

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        """`ack`, `snooze` or `withdraw`."""
        ...

    def withdraw_key(self, key: str) -> list[Document]: ...

    def on_person(self, who: str, act: str, body: Document) -> Document:
        """`mute`, `unmute` or `away`."""
        ...


def attention_desk(settings: Settings, *chosen_here: str | None) -> AttentionDesk:
    there = elsewhere(settings, *chosen_here)
    return AttentionThere(there) if there is not None else AttentionHere(settings)


class AttentionHere:
    """The same work as behind the API, without one, as the owner."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def zone(self) -> str:
        return str(self.policy(OWNER)["rules"]["zone"])

    def policy(self, who: str) -> Document:
        return self._with(lambda acts, me: acts.policy(me, who))

    def set_policy(self, who: str, policy: Document | None) -> Document:
        return self._with(lambda acts, me: acts.set_policy(me, who, policy))

    def figures(self, who: str) -> Document:
        return self._with(lambda acts, me: acts.figures(me, who))

    def person_plan(self, who: str) -> list[Document]:
        return self._with(lambda acts, me: acts.person_plan(me, who))

    def notice_plan(self, notice_id: str) -> list[Document]:
        return self._with(lambda acts, me: acts.notice_plan(me, notice_id))

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document:
        return self._with(lambda acts, me: acts.preview(me, who, policy, replay_seconds))

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        if act == "snooze":
            return self._with(lambda acts, me: acts.snooze(me, notice_id, body))
        return self._with(lambda acts, me: getattr(acts, act)(me, notice_id))

    def withdraw_key(self, key: str) -> list[Document]:
        return self._with(lambda acts, me: acts.withdraw_key(me, key))

    def on_person(self, who: str, act: str, body: Document) -> Document:
        return self._with(lambda acts, me: getattr(acts, act)(me, who, body))

    def _with(self, act: Callable[[AttentionActs, Principal], Awaitable[Result]]) -> Result:
        from postroom.household.attention import opened_attention
        from postroom.kernel.values.principal import OPERATOR

        async def work() -> Result:
            async with opened_attention(self._settings) as acts:
                return await act(acts, OPERATOR)

        return asyncio.run(work())


class AttentionThere:
    def __init__(self, household: Elsewhere) -> None:
        self._household = household

    def zone(self) -> str:
        """Only people have a policy; of others it is this machine's."""
        try:
            return str(self.policy(OWNER)["rules"]["zone"])
        except ElsewhereError:
            return machine_zone()

    def policy(self, who: str) -> Document:
        return _told(self._household.get(path_of("people", who, "attention")))

    def set_policy(self, who: str, policy: Document | None) -> Document:
        path = path_of("people", who, "attention")
        return _told(self._household.delete(path) if policy is None else self._household.put(path, policy))

    def figures(self, who: str) -> Document:
        return _told(self._household.get(path_of("people", who, "attention/figures")))

    def person_plan(self, who: str) -> list[Document]:
        return list(self._household.get(path_of("people", who, "attention/plan"))["plan"])

    def notice_plan(self, notice_id: str) -> list[Document]:
        return list(self._household.get(path_of("notices", notice_id, "plan"))["plan"])

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document:
        path = f"{path_of('people', who, 'attention/preview')}?{urlencode({'replay_seconds': replay_seconds})}"
        return _told(self._household.post(path, policy))

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        notice: Document = self._household.post(path_of("notices", notice_id, act), body)["notice"]
        return notice

    def withdraw_key(self, key: str) -> list[Document]:
        return list(self._household.post(path_of("notices", "withdraw"), {"key": key})["notices"])

    def on_person(self, who: str, act: str, body: Document) -> Document:
        return _told(self._household.post(path_of("people", who, act), body))


def _told(answer: Document) -> Document:
    return {name: value for name, value in answer.items() if name != "ok"}


# -- What commands say: times in the zone of the one who asks, and reasons in words --

_WHAT: Final = {
    "hold": "is held",
    "join_digest": "is held for a digest",
    "release": "is sent",
    "delegate": "is sent to who stands in",
    "close_digest": "is sent in a digest",
    "merge": "is dropped for a newer one",
    "mute": "is muted",
    "expire": "expires unsent",
    "withdraw": "is withdrawn",
    "repeat": "is sent again",
    "escalate": "goes to the next step",
    "give_up": "counts as unanswered",
    "fail": "counts as undeliverable",
    "correct": "is corrected",
}


def moment_words(at: str, zone: str) -> str:
    """`07:00 CEST` of another day is said with its day."""
    return said_moment(parse_text(at), zone, SystemClock().now_us())


def held_sentence(until: str | None, reasons: Iterable[str], zone: str) -> str:
    why = because(reasons)
    when = f"held until {moment_words(until, zone)}" if until is not None else "not sent"
    return f"{when}: {why}" if why else when


def _plan_line(item: Mapping[str, Any], zone: str) -> str:
    where = f" to {item['where']}" if item["where"] else ""
    why = f" ({because(item['why'])})" if item["why"] else ""
    unless = f", unless {item['unless']}" if item["unless"] else ""
    return f"{moment_words(item['at'], zone)}  {_WHAT.get(item['what'], item['what'])}{where}{why}{unless}"


def _figures_line(figures: Mapping[str, Any]) -> str:
    counted = ", ".join(f"{count} {cell.replace('_', ' ')}" for cell, count in figures["cells"].items() if count)
    broken = "".join(f"; UNACCOUNTED: {one}" for one in figures["unaccounted"])
    return f"notices: {counted or 'none yet'}{broken}"


def _policy_lines(answer: Mapping[str, Any], zone: str) -> list[str]:
    """What counts, and whether it is the person's own."""
    rules = answer["rules"]
    quiet = ", ".join(_window(one) for one in rules["quiet_hours"]) or "none"
    own = answer["policy"]
    lines = [
        f"policy: {_own(own)}",
        f"quiet hours: {quiet} ({rules['zone']})",
        f"slots: {', '.join(rules['slots']) or 'none'}",
    ]
    return lines + [f"away until {moment_words(one['until'], zone)}" for one in answer["away"]]


def _own(policy: Mapping[str, Any] | None) -> str:
    if policy is None:
        return "none of their own"
    return str(policy.get("preset") or "their own")


def _window(window: Mapping[str, Any]) -> str:
    days = f" on {' '.join(window['days'])}" if "days" in window else ""
    return f"{window['from']}-{window['until']}{days}"


# -- Policies as TOML files --

_MOST_BYTES: Final = 1024 * 1024
_WINDOW: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)", re.ASCII)


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            written = opened.read(_MOST_BYTES + 1)
        if len(written) > _MOST_BYTES:
            raise SettingsError(f"{file}: is larger than {_MOST_BYTES} bytes; name the file of a policy.")
        return tomllib.loads(written.decode())
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror or 'cannot be read'}; name a file that you may read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: is no TOML: {error}. Mend that line.") from None


def _read_policy_file(file: Path) -> dict[str, Any]:
    """The keys themselves, or a table `[attention]` as in the settings."""
    written = _read_toml(file)
    table = written.get("attention")
    return table if isinstance(table, dict) and len(written) == 1 else written


def _quiet_window(text: str) -> dict[str, str]:
    """`22:00-07:00`; which hours there are is the policy's to say."""
    if (found := _WINDOW.fullmatch(text.strip())) is None:
        raise SettingsError(f"--quiet: '{text}' is no pair of times; write it like 22:00-07:00.")
    return {"from": found[1], "until": found[2]}
