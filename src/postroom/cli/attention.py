"""`postroom attention`: when people are shown what agents have to say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.attention_desk import AttentionDesk, Document, attention_desk
from postroom.cli.attention_words import figures_line, held_sentence, moment_words, plan_line, policy_lines
from postroom.cli.duration import seconds_of
from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.policy_file import quiet_window, read_policy_file
from postroom.cli.progress import bar
from postroom.domain.settings_error import SettingsError
from postroom.doors.attention.arguments import LONGEST_ABSENCE
from postroom.system.settings.load import from_process

app = typer.Typer(
    help="When people are shown what agents have to say, and what will happen to it.", no_args_is_help=True
)

_OWNER = "owner"
_NEXT = 5
Who = Annotated[str, typer.Argument(metavar="PERSON", help="A name, an alias or an id; the owner by default.")]
_NOTICE_ID = "The id that the answer of `notify` named."
Notice = Annotated[str, typer.Argument(metavar="NOTICE", help=_NOTICE_ID)]
For = Annotated[str | None, typer.Option("--for", help="How long: 30m, 2h, 1d; an hour by default.")]
Until = Annotated[str | None, typer.Option("--until", help="Until when, such as 2026-01-05T09:00:00+01:00.")]


@app.command("show")
def show(who: Who = _OWNER, home: Home = None, database: Database = None, json: Json = False) -> None:
    """The policy that counts for a person, where their notices are, and what happens next."""
    desk = _desk(home, database)
    policy, figures, plan = desk.policy(who), desk.figures(who), desk.person_plan(who)
    if json:
        say_json({**policy, "figures": figures, "plan": plan})
        return
    zone = desk.zone()
    for line in [*policy_lines(policy, zone), figures_line(figures), *(plan_line(one, zone) for one in plan[:_NEXT])]:
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
        answer = desk.set_policy(who, read_policy_file(file))
    else:
        answer = desk.set_policy(who, {**(desk.policy(who)["policy"] or {}), **changes})
    _say(answer, json, *(() if json else policy_lines(answer, desk.zone())))


@app.command("plan")
def plan(
    what: Annotated[str, typer.Argument(metavar="[NOTICE|PERSON]", help="The owner by default.")] = _OWNER,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """What will happen if no one does anything."""
    from postroom.work.attention.notice_outcome import is_notice_id

    desk = _desk(home, database)
    items = desk.notice_plan(what) if is_notice_id(what) else desk.person_plan(what)
    if json:
        say_json({"plan": items})
        return
    zone = desk.zone() if items else ""
    for item in items:
        say(plan_line(item, zone))
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
    other, seconds = read_policy_file(policy), _seconds(replay, "--replay") or 0
    with bar("Replaying", quiet=json):
        answer = _desk(home, database).preview(who, other, seconds)
    _say(answer, json, *(answer["difference"] or ["Nothing would have been different."]))


@app.command("ack")
def ack(notice: Notice, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Say that a notice was seen; nothing more is sent of it."""
    _act(_desk(home, database), notice, "ack", {}, json)


@app.command("snooze")
def snooze(
    notice: Notice,
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
    windows = [quiet_window(one) for one in quiet] if quiet else None
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
    from postroom.domain.time import seconds, to_text
    from postroom.system.clock import SystemClock

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
