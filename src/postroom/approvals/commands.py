"""`postroom approvals`: from the shell, as the person who operates this household."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from postroom.approvals.acts import (
    APPROVE,
    REJECT,
    SHOW,
    ActionBody,
    ApproveAction,
    ListPendingActions,
    RejectAction,
    ShowPendingAction,
)
from postroom.approvals.acts import WholeActionBody as Whole
from postroom.attention.commands import moment_words, reader_zone
from postroom.kernel.acts.commands import Perform, Telling, read_typed, with_options_of
from postroom.kernel.acts.reading import made
from postroom.kernel.running.terminal import Home, Json, complain, say, say_json
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.ids import is_uuid
from postroom.message.outgoing import known_as
from postroom.settings.glance import glance_from_process
from postroom.settings.load import from_process
from postroom.settings.reach import running_here

app = typer.Typer(help="Decide what may be sent.", no_args_is_help=True)
_PAGE = 200
_MOST_CANDIDATES = 8


@app.command("list")
def list_waiting(home: Home = None, json: Json = False) -> None:
    """What waits for a decision, newest first."""
    Telling(
        says=lambda found, _: [f"{one['action_id']}  {_summary(one)}" for one in found.actions] or ["Nothing waits."],
        prints=lambda found: found.actions,
    ).tell(made(ListPendingActions), _performing(home), json)


@app.command("show")
@with_options_of(ShowPendingAction, SHOW)
def show(home: Home = None, json: Json = False, **typed: Any) -> None:
    """Exactly what would be sent, with hidden characters made visible."""
    asked: ShowPendingAction = read_typed(ShowPendingAction, typed, SHOW)
    action = _shown(_performing(home), asked.action_id, "all")
    if json:
        say_json(action)
    else:
        _show(action, _zone(home))


@app.command("approve")
@with_options_of(ApproveAction, APPROVE)
def approve(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not show it and ask first.")] = False,
    home: Home = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Send it, once; what was shown is what is sent, to the byte."""
    one, perform = read_typed(ApproveAction, typed, APPROVE), _performing(home)
    action = _shown(perform, one.action_id, "pending")
    if not yes:
        _show(action, _zone(home), complain if json else say)
        typer.confirm("Send this?", abort=True, err=json)
    whole = {"action_id": action["action_id"], "content_hash": action["content_hash"]}
    said = f"Approved; delivery {action['action_id']} is on its way."
    Telling(says=lambda *_: [said], prints=lambda answer: answer).tell(one.model_copy(update=whole), perform, json)


@app.command("reject")
@with_options_of(RejectAction, REJECT)
def reject(home: Home = None, json: Json = False, **typed: Any) -> None:
    """Never send it; its sender sees the reason when it asks (notify_status)."""
    typed_one, perform = read_typed(RejectAction, typed, REJECT), _performing(home)
    one = typed_one.model_copy(update={"action_id": _meant(perform, typed_one.action_id, "pending")})
    Telling(says=lambda *_: ["Rejected; its sender sees the reason (notify_status)."]).tell(one, perform, json)


def _performing(home: str | None) -> Perform:
    """By the household that runs, which sends at once what is agreed to."""
    return running_here(glance_from_process({"home": home}), home).ask


def _shown(perform: Perform, identifier: str, status: str) -> Whole:
    action: Whole = perform(made(ShowPendingAction, action_id=_meant(perform, identifier, status))).action
    return action


def _meant(perform: Perform, identifier: str, status: str) -> str:
    """The one action that begins so; one that is not found stays as it was given, to be refused."""
    if is_uuid(identifier):
        return identifier
    found = [one for one in _ids(perform, status) if one.startswith(identifier)]
    if not found and status != "all":  # what is over already says so itself
        found = [one for one in _ids(perform, "all") if one.startswith(identifier)]
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_CANDIDATES])
        raise SettingsError(f"'{identifier}' is the beginning of several actions; give more of it. There are {shown}.")
    return found[0] if found else identifier


def _ids(perform: Perform, status: str) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = perform(made(ListPendingActions, status=status, limit=_PAGE, cursor=cursor))
        yield from (action["action_id"] for action in page.actions)
        if (cursor := page.next_cursor) is None:
            return


def _summary(action: ActionBody) -> str:
    who = f"{known_as(action['origin_butler'])} to {action['recipient']} over {action['channel']}"
    return f"{who} (risk {action['risk_tier']}): {action['preview']}"


def _zone(home: str | None) -> str:
    return reader_zone(from_process({"home": home})[0], home)


def _show(action: Whole, zone: str, say: Callable[[str], None] = say) -> None:
    visible = action["visible"]
    who, to = known_as(action["origin_butler"]), visible["recipient"]
    say(f"{who} wants to {visible['intent']} over {visible['channel']} to {to}")
    for name in ("subject", "message", "emoji", "buttons"):
        if visible[name]:
            say(f"{name}: {visible[name]}")
    for link in action.get("links", []):
        say(f"link: {link.label} leads to {link.target}" + (" (not what it says)" if link.misleading else ""))
    for file in action["attachments"]:
        say(f"file: {file.visible_name} ({file.size:,} bytes, {file.media_type}, SHA-256 {file.sha256})")
        if file.preview:
            say("".join(f"    {line}\n" for line in file.preview.splitlines()[:20]).rstrip("\n"))
    for warning in action["warnings"]:
        say(f"warning: {warning['field']} hides {warning['character']} at {warning['position']}")
    say(f"risk {action['risk_tier']}, {action['status']}, expires {moment_words(action['expires_at'], zone)}")
