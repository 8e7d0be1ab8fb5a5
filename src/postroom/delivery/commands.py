"""`postroom notify`: send a message from the shell."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from postroom.kernel.running.terminal import Home, Json, Roster, complain, say, say_json
from postroom.kernel.values.errors import SettingsError, UserError
from postroom.kernel.values.fields import did_you_mean
from postroom.message.wishes import AUTO
from postroom.settings.glance import SettingsGlance, glance_from_process
from postroom.settings.reach import Elsewhere, elsewhere
from postroom.settings.written import DEFAULT_CHANNEL, SPOKEN

_NOT_THERE: Final = "--as: at POSTROOM_URL the token says who speaks; leave this out, or set another POSTROOM_TOKEN."
_MUTED: Final = 3  # the exit code of what is stored and not sent
_BUTLER: Final = "general"
_Send = Callable[[dict[str, Any], float], dict[str, Any]]
_Channel = Annotated[
    str | None,
    typer.Option("--channel", "-c", help=f"Such as {SPOKEN}, or auto; {DEFAULT_CHANNEL}, or what POSTROOM_URL finds."),
]
_Wait = Annotated[
    float | None,
    typer.Option(
        "--wait", min=0, max=600, help="Seconds to wait for the outcome; what a limit refuses is tried again."
    ),
]
_As = Annotated[
    str | None, typer.Option("--as", help="The butler that speaks: general, or whose token POSTROOM_TOKEN is.")
]


def notify(
    message: Annotated[str, typer.Argument(help="What to say; - reads it from standard input.")],
    channel: _Channel = None,
    recipient: Annotated[
        str | None, typer.Option("--to", help="An address or a contact; the owner by default.")
    ] = None,
    subject: Annotated[str | None, typer.Option("--subject")] = None,
    butler: _As = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Send once for this key, however often it is called.")
    ] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="high, medium or low.")] = None,
    format: Annotated[str | None, typer.Option("--format", help="Of the message: plain or markdown.")] = None,
    attach: Annotated[
        list[Path] | None, typer.Option("--attach", help="A file that goes with it; may be given several times.")
    ] = None,
    urgency: Annotated[
        str | None, typer.Option("--urgency", help="passive, normal, time_sensitive or critical.")
    ] = None,
    category: Annotated[str | None, typer.Option("--category", help="What kind it is, such as security.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="What it belongs together with.")] = None,
    supersedes: Annotated[
        str | None, typer.Option("--supersedes", help="Replaces what was sent under this key.")
    ] = None,
    needs_ack: Annotated[bool, typer.Option("--needs-ack", help="A person has to acknowledge it.")] = False,
    expires: Annotated[str | None, typer.Option("--expires", help="Not worth showing after this: 30m, 2h, 1d.")] = None,
    wait_seconds: _Wait = None,
    home: Home = None,
    roster: Roster = None,
    json: Json = False,
) -> None:
    """Send a message; exits with 0 delivered, stored or held, 3 muted, 1 refused or failed; POSTROOM_URL: elsewhere."""
    settings = glance_from_process(overrides := {"home": home, "roster": roster})
    _check_words(priority, format, urgency)
    asked = {
        "message": sys.stdin.read() if message == "-" else message,
        "channel": channel,
        "subject": subject,
        "idempotency_key": key,
        "priority": priority,
        "wait_seconds": wait_seconds,
        "format": format,
        "urgency": urgency,
        "category": category,
        "thread": thread,
        "supersedes": supersedes,
        "needs_ack": needs_ack or None,
        "expires_in_seconds": _expires(expires),
    }
    if (there := elsewhere(settings, home, roster)) is not None:
        if butler is not None:
            raise SettingsError(_NOT_THERE)
        asked |= {"to": recipient, **_uploaded(there, attach, quiet=json)}
        send: _Send = there.notify
    else:
        asked |= {"recipient": recipient, **_taken_here(overrides, attach, butler or _BUTLER)}
        send = partial(_here, settings, overrides, butler or _BUTLER)
    answer = _until_there_is_room(send, asked, settings.notify_wait_seconds)
    _show(answer, json, overrides, recipient or "")


def _name_them(overrides: Mapping[str, str | None], who: str) -> None:
    from postroom.people.commands import choice, performing_people
    from postroom.settings.load import from_process

    with suppress(UserError):  # to whom the people are not shown, no names are named
        known = performing_people(from_process(overrides)[0], *overrides.values())
        complain(f"Several people are called '{who}'; say which one by its id:{choice(known, who)}")
        raise typer.Exit(1)


def _is_several_peoples(answer: dict[str, Any]) -> bool:
    error = answer.get("error")
    fields = error.get("fields", []) if isinstance(error, dict) else answer.get("fields", [])
    return any(one.get("code") == "ambiguous_recipient" for one in fields)


def _until_there_is_room(send: _Send, asked: dict[str, Any], default_wait: float) -> dict[str, Any]:
    """What is refused for now was not stored; it is tried again when it said, as long as --wait lasts."""
    wait_seconds = asked["wait_seconds"]
    patience = wait_seconds if wait_seconds is not None else default_wait
    ends = time.monotonic() + patience
    while True:
        answer = send(dict(asked), patience + 20)
        pause = _retry_after(answer)
        if wait_seconds is None or pause is None or time.monotonic() + pause > ends:
            return answer
        time.sleep(pause)
        asked["wait_seconds"] = patience = max(0.0, ends - time.monotonic())


def _retry_after(answer: dict[str, Any]) -> float | None:
    """Of what was refused for now, such as by a limit."""
    error = answer.get("error")
    if not answer.get("retryable") or not isinstance(error, dict):
        return None
    wait = error.get("retry_after_seconds")
    return float(wait) if isinstance(wait, int | float) else None


def _show(answer: dict[str, Any], json: bool, overrides: Mapping[str, str | None], recipient: str) -> None:
    if not json and _is_several_peoples(answer):
        _name_them(overrides, recipient)
    failed = answer["status"] == "error"
    if json:
        say_json(answer)
    elif failed:
        complain(_failure(answer))
    else:
        say(_sentence(answer, overrides))
    if failed or answer["status"] == "muted":
        raise typer.Exit(1 if failed else _MUTED)


def _uploaded(there: Elsewhere, files: list[Path] | None, *, quiet: bool) -> dict[str, Any]:
    if not files:
        return {}
    from postroom.kernel.running.terminal import bar
    from postroom.settings.attach import upload_there

    with bar("Handing in the files", quiet=quiet):
        return {"attachments": upload_there(there, files)}


def _taken_here(overrides: Mapping[str, str | None], files: list[Path] | None, butler: str) -> dict[str, Any]:
    if not files:
        return {}
    from postroom.settings.attach import take_here
    from postroom.settings.load import from_process

    return {"attachments": take_here(from_process(overrides)[0], files, butler)}


def _here(
    settings: SettingsGlance, overrides: Mapping[str, str | None], butler: str, asked: dict[str, Any], patience: float
) -> dict[str, Any]:
    from postroom.kernel.running.terminal import NotRunning
    from postroom.settings.reach import call, call_at

    asked["channel"] = channel = asked["channel"] or DEFAULT_CHANNEL
    if (url := settings.url_of(butler)) is not None and channel in (*settings.channels, AUTO):
        with suppress(NotRunning):  # a mistake in the settings may be why, so all of them are read below
            return call_at(url, settings.tokens_file, butler, "notify", asked, patience)
    from postroom.household.channels import known_channels
    from postroom.settings.load import from_process

    whole, _ = from_process(overrides)
    _check("--channel", channel, (*known_channels(whole), AUTO))
    return call(whole, butler, "notify", asked, timeout_seconds=patience)


def _check_words(priority: str | None, format: str | None, urgency: str | None) -> None:
    if priority is not None:
        from postroom.message.delivery import Priority

        _check("--priority", priority, Priority)
    if format is not None:
        from postroom.message.delivery import Format

        _check("--format", format, Format)
    if urgency is not None:
        from postroom.message.wishes import Urgency

        _check("--urgency", urgency, Urgency)


def _check(option: str, word: str, known: Iterable[str]) -> None:
    """Here and not only at the household, which has no idea what was mistyped."""
    if word not in (names := sorted(known)):
        raise SettingsError(f"{option}: there is no '{word}'{did_you_mean(word, names)} There are {', '.join(names)}.")


def _expires(length: str | None) -> int | None:
    if length is None:
        return None
    from postroom.kernel.running.terminal import seconds_of

    return int(seconds_of(length, "--expires"))


def _failure(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    told = error.get("message") if isinstance(error, dict) else error
    pause = _retry_after(answer)
    again = f" Try again in {math.ceil(pause)} s, or let --wait do it." if pause is not None else ""
    return f"Not delivered: {told} ({answer.get('error_class')}).{again}"


def _sentence(answer: dict[str, Any], overrides: Mapping[str, str | None]) -> str:
    if "urgency" not in answer:
        return _standing(answer, overrides)
    became = str(answer["urgency"]).replace("_", "-")
    return f"{_standing(answer, overrides)}\nIt counts as {became} here: that is the most its person lets it be."


def _standing(answer: dict[str, Any], overrides: Mapping[str, str | None]) -> str:
    delivery = answer.get("delivery")
    delivery = delivery if isinstance(delivery, dict) else {}
    delivery_id, notice_id = delivery.get("delivery_id"), answer.get("notice_id")
    match answer["status"]:
        case "deferred":
            from postroom.attention.commands import held_sentence, reader_zone
            from postroom.settings.load import from_process

            zone = reader_zone(from_process(overrides)[0], *overrides.values())
            return f"{held_sentence(answer['until'], answer['reasons'], zone)}; notice {notice_id}"
        case "muted":
            return f"Not sent: such messages are muted. It is kept as notice {notice_id}."
        case "pending_approval":
            return f"Waits for an approval: `postroom approvals list` shows it. Delivery {delivery_id}."
        case "accepted" if delivery_id is None:
            return f"Stored, and sent as soon as there is room: notice {notice_id}."
        case "accepted":
            return f"Stored, and still on its way: `postroom why {delivery_id}` says how it goes."
        case _:
            context = answer.get("request_context")
            request = context.get("request_id") if isinstance(context, dict) else None
            return f"{delivery.get('status')}: delivery {delivery_id}, request {request}"
