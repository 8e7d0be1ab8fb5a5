"""`postroom notify`: send a message from the shell."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from postroom.kernel.acts.commands import read_typed, with_options_of
from postroom.kernel.running.terminal import Home, Json, NotRunning, Roster, bar, complain, say, say_json, unknown_word
from postroom.kernel.values.errors import Mistyped, SettingsError, UserError
from postroom.message.acts import COMMAND, NotifyPerson
from postroom.message.wishes import AUTO
from postroom.settings.glance import SettingsGlance, glance_from_process
from postroom.settings.reach import Elsewhere, Part, elsewhere, part_here, take_here, upload_there
from postroom.settings.written import DEFAULT_CHANNEL

_NOT_THERE: Final = "--as: at POSTROOM_URL the token says who speaks; leave this out, or set another POSTROOM_TOKEN."
_MUTED: Final = 3  # the exit code of what is stored and not sent
_BUTLER: Final = "general"
_Send = Callable[[NotifyPerson, float], Mapping[str, Any]]
_As = Annotated[
    str | None, typer.Option("--as", help="The butler that speaks: general, or whose token POSTROOM_TOKEN is.")
]


@with_options_of(NotifyPerson, COMMAND)
def notify(
    butler: _As = None,
    attach: Annotated[
        list[Path] | None, typer.Option("--attach", help="A file that goes with it; may be given several times.")
    ] = None,
    home: Home = None,
    roster: Roster = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Send a message; exits with 0 delivered, stored or held, 3 muted, 1 refused or failed; POSTROOM_URL: elsewhere."""
    settings = glance_from_process(overrides := {"home": home, "roster": roster})
    one: NotifyPerson = read_typed(NotifyPerson, typed, COMMAND)
    if one.message is None:
        raise Mistyped("MESSAGE: is required: say what to send, or give - to read it.")
    if one.message == "-":
        one = one.model_copy(update={"message": sys.stdin.read()})
    there = elsewhere(settings, home, roster)
    if there is not None:
        if butler is not None:
            raise SettingsError(_NOT_THERE)
        send: _Send = there.ask
        files = _uploaded(there, attach, quiet=json) if attach else None
    else:
        send = partial(_here, settings, overrides, butler or _BUTLER)
        files = _taken_here(overrides, attach, butler or _BUTLER) if attach else None
    if files is not None:
        one = one.model_copy(update={"attachments": files})
    answer = _until_there_is_room(send, one, settings.notify_wait_seconds)
    _show(answer, json, overrides, one.recipient or "")


def codes_in(answer: Mapping[str, Any]) -> set[str]:
    """Of the arguments that an answer complains about."""
    error = answer.get("error")
    fields = (error.get("fields") if isinstance(error, dict) else answer.get("fields")) or []
    return {str(one.get("code")) for one in fields}


def _name_them(overrides: Mapping[str, str | None], who: str) -> None:
    from postroom.people.commands import choice, performing_people
    from postroom.settings.load import from_process

    with suppress(UserError):  # to whom the people are not shown, no names are named
        known = performing_people(from_process(overrides)[0], *overrides.values())
        complain(f"Several people are called '{who}'; say which one by its id:{choice(known, who)}")
        raise typer.Exit(1)


def _until_there_is_room(send: _Send, one: NotifyPerson, default_wait: float) -> Mapping[str, Any]:
    """What is refused for now was not stored; it is tried again when it said, as long as --wait lasts."""
    patience = default_wait if one.wait_seconds is None else one.wait_seconds
    ends = time.monotonic() + patience
    while True:
        answer = send(one, patience + 20)
        pause = _retry_after(answer)
        if one.wait_seconds is None or pause is None or time.monotonic() + pause > ends:
            return answer
        time.sleep(pause)
        patience = max(0.0, ends - time.monotonic())
        one = one.model_copy(update={"wait_seconds": patience})


def _retry_after(answer: Mapping[str, Any]) -> float | None:
    """Of what was refused for now, such as by a limit."""
    error = answer.get("error")
    if not answer.get("retryable") or not isinstance(error, dict):
        return None
    wait = error.get("retry_after_seconds")
    return float(wait) if isinstance(wait, int | float) else None


def _show(answer: Mapping[str, Any], json: bool, overrides: Mapping[str, str | None], recipient: str) -> None:
    if not json and "ambiguous_recipient" in codes_in(answer):
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


def _uploaded(there: Elsewhere, files: list[Path], *, quiet: bool) -> list[dict[str, str]]:
    with bar("Handing in the files", quiet=quiet):
        return upload_there(there, files)


def _taken_here(overrides: Mapping[str, str | None], files: list[Path], butler: str) -> list[dict[str, str]]:
    from postroom.settings.load import from_process

    return take_here(from_process(overrides)[0], files, butler)


def _here(
    settings: SettingsGlance, overrides: Mapping[str, str | None], butler: str, one: NotifyPerson, patience: float
) -> Mapping[str, Any]:
    usual = AUTO if one.recipient is None else DEFAULT_CHANNEL  # of an address alone nobody knows what it is on
    one = one.model_copy(update={"channel": one.channel or usual})
    if (url := settings.url_of(butler)) is not None and one.channel in (*settings.channels, AUTO):
        with suppress(NotRunning):  # a mistake in the settings may be why, so all of them are read below
            return Part(name=butler, url=url, tokens_file=settings.tokens_file).ask(one, patience)
    from postroom.household.channels import known_channels
    from postroom.settings.load import from_process

    whole, _ = from_process(overrides)
    if wrong := unknown_word("--channel", one.channel or "", (*known_channels(whole), AUTO)):
        raise SettingsError(wrong)
    return part_here(whole, butler).ask(one, patience)


def _failure(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    told = error.get("message") if isinstance(error, dict) else error
    pause = _retry_after(answer)
    again = f" Try again in {math.ceil(pause)} s, or let --wait do it." if pause is not None else ""
    return f"Not delivered: {str(told).rstrip('.')}.{again}"


def _sentence(answer: Mapping[str, Any], overrides: Mapping[str, str | None]) -> str:
    if "urgency" not in answer:
        return _standing(answer, overrides)
    became = str(answer["urgency"]).replace("_", "-")
    return f"{_standing(answer, overrides)}\nIt counts as {became} here: that is the most its person lets it be."


def _standing(answer: Mapping[str, Any], overrides: Mapping[str, str | None]) -> str:
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
