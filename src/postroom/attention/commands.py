"""`postroom attention`: when people are shown what agents have to say."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from postroom.attention.acts import (
    MUTE,
    SET,
    SHOW,
    SIMULATE,
    AckNotice,
    AwayAnswer,
    CountNotices,
    DeleteAttention,
    FiguresAnswer,
    GetAttention,
    Mute,
    MutedAnswer,
    NoticeAnswer,
    NoticesAnswer,
    PersonPlanAnswer,
    PersonPlanItemBody,
    PlanAnswer,
    PlanItemBody,
    PlanNotice,
    PlanPerson,
    PolicyAnswer,
    PreviewAttention,
    SetAttention,
    SetAway,
    SnoozeNotice,
    Unmute,
    UnmutedAnswer,
    WithdrawNotice,
    WithdrawNotices,
)
from postroom.attention.model import DECISION_WORDS, DecisionKind, is_notice_id
from postroom.kernel.acts.commands import Perform, Telling, add_command, as_json, help_of, read_typed, with_options_of
from postroom.kernel.acts.reading import made, read
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Database, Home, Json, bar, say, say_json
from postroom.kernel.values.errors import Mistyped, Refused, SettingsError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import is_uuid, parse_text
from postroom.kernel.values.principal import OWNER
from postroom.kernel.values.zones import said_moment
from postroom.message.wishes import because
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.model import machine_zone
from postroom.settings.reach import ElsewhereError, performing

app = typer.Typer(
    help="When people are shown what agents have to say, and what will happen to it.", no_args_is_help=True
)
_HERE: Final = "postroom.household.attention:opened_attention"
_NEXT: Final = 5
_NOTICE_ID: Final = "The id that the answer of `notify` named."


@app.command("show")
@with_options_of(GetAttention, SHOW)
def show(home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
    """The policy that counts for a person, where their notices are, and what happens next."""
    who = read_typed(GetAttention, typed, SHOW).person
    perform = _performing(home, database)
    asked = (made(GetAttention, person=who), made(CountNotices, person=who), made(PlanPerson, person=who))
    policy, figures, plan = (perform(one) for one in asked)
    if json:
        counted, planned = as_json(asked[1], figures), as_json(asked[2], plan)["plan"]
        say_json({**as_json(asked[0], policy), "figures": counted, "plan": planned})
        return
    zone = _zone(perform)
    for line in [
        *_policy_lines(policy, zone),
        _figures_line(figures),
        *(_plan_line(one, zone) for one in plan.plan[:_NEXT]),
    ]:
        say(line)


@app.command("set")
@with_options_of(SetAttention, SET)
def set_policy(
    file: Annotated[Path | None, typer.Option("--file", help="A policy in TOML, instead of the one there is.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take the person's own policy away.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Set a person's policy; what is held is judged anew at once."""
    one: SetAttention = read_typed(SetAttention, typed, SET)
    who, changes = one.person, one.written()
    if sum((file is not None, bool(changes), clear)) != 1:
        raise Mistyped("Give --file, or --clear, or any of --preset, --quiet and --zone.")
    perform, telling = _performing(home, database), Telling(says=lambda answer, do: _policy_lines(answer, _zone(do)))
    if clear:
        telling.tell(made(DeleteAttention, person=who), perform, json)
        return
    own = _read_policy_file(file) if file is not None else perform(made(GetAttention, person=who)).policy or {}
    telling.tell(read(SetAttention, {**own, **changes, "person": who})[0], perform, json)


@app.command("plan")
def plan(
    what: Annotated[str, typer.Argument(metavar="[NOTICE|PERSON]", help="The owner by default.")] = OWNER,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """What will happen if no one does anything."""
    perform = _performing(home, database)
    of_notice = is_notice_id(what) or (is_uuid(what) and _is_copy(what, perform))
    one = made(PlanNotice, notice_id=what) if of_notice else made(PlanPerson, person=what)
    Telling(says=_plan_lines).tell(one, perform, json)


def _is_copy(identifier: str, perform: Perform) -> bool:
    """The e-mail copy of a note is a notice under the note's id, which in its form may be a person's."""
    try:
        perform(made(PlanNotice, notice_id=identifier))
    except (ElsewhereError, Refused):
        return False
    return True


@app.command("simulate")
@with_options_of(PreviewAttention, SIMULATE)
def simulate(
    policy: Annotated[Path, typer.Option("--policy", help="The other policy, in TOML.")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """What would have been different under another policy, over the notices that came; changes nothing."""
    asked: PreviewAttention = read_typed(PreviewAttention, typed, SIMULATE)
    given = {"person": asked.person, **asked.model_dump(exclude_unset=True)}
    one = read(PreviewAttention, {**_read_policy_file(policy), **given})[0]
    with bar("Replaying", quiet=json):
        answer = _performing(home, database)(one)
    Telling(says=lambda _, do: answer.difference or ["Nothing would have been different."]).tell(
        one, lambda _: answer, json
    )


@app.command("withdraw")
def withdraw(
    notice_id: Annotated[str | None, typer.Argument(metavar="[NOTICE]", help=_NOTICE_ID)] = None,
    key: Annotated[str | None, typer.Option("--key", help="All that you sent with this --supersedes.")] = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Take a notice back, or all of a key of your own; what has not come yet is not shown when it does."""
    if (notice_id is None) == (key is None):
        raise Mistyped("Give a notice or --key.")
    perform = _performing(home, database)
    if notice_id is not None:
        Telling(says=_notice_lines, prints=_notice).tell(made(WithdrawNotice, notice_id=notice_id), perform, json)
    else:
        Telling(says=_withdrawn_lines).tell(made(WithdrawNotices, key=key), perform, json)


def _performing(home: str | None, database: str | None) -> Perform:
    settings, _ = from_process({"home": home, "database": database})
    return performing(settings, _HERE, home, database)


def reader_zone(settings: Settings, *chosen_here: str | None) -> str:
    """In which whoever types is told of moments."""
    return _zone(performing(settings, _HERE, *chosen_here))


def _zone(perform: Perform) -> str:
    """Only people have a policy; of others it is this machine's."""
    try:
        return str(perform(made(GetAttention, person=OWNER)).rules["zone"])
    except ElsewhereError:
        return machine_zone()


# -- What commands say: times in the zone of the one who asks, and reasons in words --


def moment_words(at: str, zone: str) -> str:
    """`07:00 CEST` of another day is said with its day."""
    return said_moment(parse_text(at), zone, SystemClock().now_us())


def held_sentence(until: str | None, reasons: Iterable[str], zone: str) -> str:
    why = because(reasons)
    when = f"held until {moment_words(until, zone)}" if until is not None else "not sent"
    return f"{when}: {why}" if why else when


def _plan_lines(answer: PlanAnswer | PersonPlanAnswer, perform: Perform) -> list[str]:
    zone = _zone(perform) if answer.plan else ""
    return [_plan_line(one, zone) for one in answer.plan] or ["Nothing is going to happen."]


def _plan_line(item: PlanItemBody, zone: str) -> str:
    """Of a person's plan with the notice, which `postroom why` explains."""
    which = f" (notice {item.notice_id})" if isinstance(item, PersonPlanItemBody) else ""
    where = f" to {item.where}" if item.where else ""
    what, reason = DECISION_WORDS[DecisionKind(item.what)].coming, because(item.why)
    why = f" ({reason})" if reason and reason not in what else ""
    unless = f", unless {item.unless}" if item.unless else ""
    return f"{moment_words(item.at, zone)}  {what}{where}{why}{unless}{which}"


def _notice(answer: NoticeAnswer) -> Any:
    return answer.notice.model_dump()


def _notice_lines(answer: NoticeAnswer, perform: Perform) -> list[str]:
    notice = answer.notice
    if notice.state not in ("held", "accepted"):
        return [notice.state]
    return [held_sentence(notice.until, notice.reasons, _zone(perform))]


def _withdrawn_lines(answer: NoticesAnswer, _perform: Perform) -> list[str]:
    lines = [f"{one.notice_id}: {one.state}" for one in answer.notices]
    return lines or ["No notice has this key yet; one that comes is not shown."]


def _muted_lines(answer: MutedAnswer, perform: Perform) -> list[str]:
    ends = moment_words(answer.until, _zone(perform)) if answer.until else "it is unmuted"
    return [f"Muted until {ends}: {_named(answer.muted)}."]


def _unmuted_lines(answer: UnmutedAnswer, _perform: Perform) -> list[str]:
    return [f"No longer muted: {_named(answer.unmuted)}."]


def _named(what: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in what.items() if value)


def _away_lines(answer: AwayAnswer, perform: Perform) -> list[str]:
    return [f"Away until {moment_words(answer.away['until'], _zone(perform))}." if answer.away else "Back again."]


def _figures_line(figures: FiguresAnswer) -> str:
    counted = ", ".join(f"{count} {cell.replace('_', ' ')}" for cell, count in figures.cells.items() if count)
    broken = "".join(f"; UNACCOUNTED: {one}" for one in figures.unaccounted)
    return f"notices: {counted or 'none yet'}{broken}"


def _policy_lines(answer: PolicyAnswer, zone: str) -> list[str]:
    """What counts, and whether it is the person's own."""
    rules = answer.rules
    quiet = ", ".join(_window(one) for one in rules["quiet_hours"]) or "none"
    own = answer.policy
    lines = [
        f"policy: {_own(own)}",
        f"quiet hours: {quiet} ({rules['zone']})",
        f"slots: {', '.join(rules['slots']) or 'none'}",
    ]
    return lines + [f"away until {moment_words(one['until'], zone)}" for one in answer.away]


def _own(policy: Document | None) -> str:
    if policy is None:
        return "none of their own"
    return str(policy.get("preset") or "their own")


def _window(window: Document) -> str:
    days = f" on {' '.join(window['days'])}" if "days" in window else ""
    return f"{window['from']}-{window['until']}{days}"


# -- Policies as TOML files --

_MOST_BYTES: Final = 1024 * 1024


def _read_toml(file: Path) -> Document:
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


def _read_policy_file(file: Path) -> Document:
    """The keys themselves, or a table `[attention]` as in the settings."""
    written = _read_toml(file)
    table = written.get("attention")
    return table if isinstance(table, dict) and len(written) == 1 else written


add_command(app, AckNotice, _performing, Telling(says=_notice_lines, prints=_notice))
add_command(app, SnoozeNotice, _performing, Telling(says=_notice_lines, prints=_notice))


@app.command("mute", help=help_of(Mute, MUTE))
@with_options_of(Mute, MUTE)
def mute(
    off: Annotated[bool, typer.Option("--off", help="Unmute.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
    **typed: Any,
) -> None:
    perform = _performing(home, database)
    if off:
        shared = {name: typed[name] for name in Unmute.model_fields}
        Telling(says=_unmuted_lines).tell(read_typed(Unmute, shared, MUTE), perform, json)
    else:
        Telling(says=_muted_lines).tell(read_typed(Mute, typed, MUTE), perform, json)


add_command(app, SetAway, _performing, Telling(says=_away_lines))
