"""`postroom approvals`: from the shell, as the person who operates this household."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from postroom.attention.commands import moment_words, reader_zone
from postroom.kernel.running.terminal import Home, Json, complain, say, say_json
from postroom.kernel.values.errors import InternalError, SettingsError
from postroom.kernel.values.ids import is_uuid
from postroom.settings.load import from_process
from postroom.settings.reach import Elsewhere, elsewhere, path_of

app = typer.Typer(help="Decide what may be sent.", no_args_is_help=True)
_PAGE = 200
_MOST_CANDIDATES = 8
_Identifier = Annotated[str, typer.Argument(metavar="ID", help="An action, as `postroom approvals list` shows it.")]


@app.command("list")
def list_waiting(home: Home = None, json: Json = False) -> None:
    """What waits for a decision, newest first."""
    answer = _ask(home, "list_pending_actions", {})
    if json:
        say_json(answer["actions"])
        return
    for action in answer["actions"]:
        say(f"{action['action_id']}  {_summary(action)}")
    if not answer["actions"]:
        say("Nothing waits.")


@app.command("show")
def show(identifier: _Identifier, home: Home = None, json: Json = False) -> None:
    """Exactly what would be sent, with hidden characters made visible."""
    action = _shown(home, identifier, "all")
    if json:
        say_json(action)
    else:
        _show(action, _zone(home))


@app.command("approve")
def approve(
    identifier: _Identifier,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not show it and ask first.")] = False,
    rule: Annotated[bool, typer.Option("--rule", help="And let this butler write to this person from now on.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Send it, once; what was shown is what is sent, to the byte."""
    action = _shown(home, identifier, "pending")
    if not yes:
        _show(action, _zone(home), complain if json else say)
        typer.confirm("Send this?", abort=True, err=json)
    seen = {"action_id": action["action_id"], "content_hash": action["content_hash"], "create_rule": rule}
    answer = _ask(home, "approve_action", seen)
    if json:
        say_json(answer)
    else:
        say(f"Approved; delivery {action['action_id']} is on its way.")


@app.command("reject")
def reject(
    identifier: _Identifier,
    reason: Annotated[str, typer.Option("--reason", help="Shown to its sender by notify_status.")],
    home: Home = None,
    json: Json = False,
) -> None:
    """Never send it; its sender sees the reason when it asks (notify_status)."""
    answer = _ask(home, "reject_action", {"action_id": _meant(home, identifier, "pending"), "reason": reason})
    if json:
        say_json(answer)
    else:
        say("Rejected; its sender sees the reason (notify_status).")


def _shown(home: str | None, identifier: str, status: str) -> dict[str, Any]:
    action: dict[str, Any] = _ask(home, "show_pending_action", {"action_id": _meant(home, identifier, status)})[
        "action"
    ]
    return action


def _meant(home: str | None, identifier: str, status: str) -> str:
    """The one action that begins so; one that is not found stays as it was given, for the messenger to refuse."""
    if is_uuid(identifier):
        return identifier
    found = [one for one in _ids(home, status) if one.startswith(identifier)]
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_CANDIDATES])
        raise SettingsError(f"'{identifier}' is the beginning of several actions; give more of it. There are {shown}.")
    return found[0] if found else identifier


def _ids(home: str | None, status: str) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = _ask(home, "list_pending_actions", {"status": status, "limit": _PAGE, "cursor": cursor})
        yield from (action["action_id"] for action in page["actions"])
        if (cursor := page["next_cursor"]) is None:
            return


def _ask(home: str | None, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    settings, _ = from_process({"home": home})
    if (there := elsewhere(settings, home)) is not None:
        return _ask_there(there, tool, arguments)
    from postroom.settings.reach import call

    try:
        answer = call(settings, "messenger", tool, arguments)
    except InternalError:  # a messenger without approvals has no such tool
        raise SettingsError("The messenger cannot do this; are approvals on? Set [approvals] enabled = true.") from None
    if answer["status"] == "error":
        raise SettingsError(f"{answer['error']['message']}.")
    return answer


def _ask_there(there: Elsewhere, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    about = dict(arguments)
    action = str(about.pop("action_id", ""))
    match tool:
        case "list_pending_actions":
            return there.get("/v1/approvals", **about)
        case "show_pending_action":
            return there.get(path_of("approvals", action))
        case "approve_action":
            return there.post(path_of("approvals", action, "approve"), about)
        case _:
            return there.post(path_of("approvals", action, "reject"), about)


def _summary(action: dict[str, Any]) -> str:
    who = f"{action['origin_butler']} to {action['recipient']} over {action['channel']}"
    return f"{who} (risk {action['risk_tier']}): {action['preview']}"


def _zone(home: str | None) -> str:
    return reader_zone(from_process({"home": home})[0], home)


def _show(action: dict[str, Any], zone: str, say: Callable[[str], None] = say) -> None:
    visible = action["visible"]
    say(f"{action['origin_butler']} wants to {visible['intent']} over {visible['channel']} to {visible['recipient']}")
    for name in ("subject", "message", "emoji", "buttons"):
        if visible[name]:
            say(f"{name}: {visible[name]}")
    for link in action.get("links", []):
        say(f"link: {link['label']} leads to {link['target']}" + (" (not what it says)" if link["misleading"] else ""))
    for file in action.get("attachments", []):
        say(f"file: {file['visible_name']} ({file['size']:,} bytes, {file['media_type']}, SHA-256 {file['sha256']})")
        if file.get("preview"):
            say("".join(f"    {line}\n" for line in file["preview"].splitlines()[:20]).rstrip("\n"))
    for warning in action["warnings"]:
        say(f"warning: {warning['field']} hides {warning['character']} at {warning['position']}")
    say(f"risk {action['risk_tier']}, {action['status']}, expires {moment_words(action['expires_at'], zone)}")
