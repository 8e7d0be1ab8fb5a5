"""Which words the Tab key offers where: one table for all commands, read only when a shell asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from typer._click.shell_completion import CompletionItem

from postroom.cli import known_words
from postroom.cli.known_words import Offer, offering

if TYPE_CHECKING:
    from typer._click import Command, Context
    from typer._click.core import Parameter

_CLIENTS: Final = offering("claude", "claude-desktop", "codex", "cursor", "gemini", "opencode", "vscode")

# Of an option wherever it stands, or of an argument by the command it belongs to.
OPTIONS: Final[dict[str, Offer]] = {
    "--channel": known_words.channels,
    "--to": known_words.people,
    "--escalate-to": known_words.people,
    "--delegate": known_words.people,
    "--person": known_words.people,
    "--butler": known_words.butlers,
    "--default-butler": known_words.butlers,
    "--urgency": offering("passive", "normal", "time_sensitive", "critical"),
    "--priority": offering("high", "medium", "low"),
    "--format": offering("plain", "markdown"),
    "--kind": offering("text", "choice", "approve", "form"),
    "--status": offering("open", "answered", "declined", "expired", "cancelled", "superseded"),
    "--preset": offering("everything", "calm", "focus"),
    "--role": offering("approver", "member", "contact"),
    "--provider": offering("google", "microsoft"),
}
OF_COMMANDS: Final[dict[tuple[str, str], Offer]] = {
    ("notify", "--as"): known_words.butlers,
    ("login", "--as"): known_words.people,
    ("connect", "--for"): known_words.people,
    ("token create", "--for"): known_words.people,
    ("connect", "client"): _CLIENTS,
    ("bridge", "client"): _CLIENTS,
    ("hook", "client"): offering("claude", "codex", "gemini"),
    ("connectors export", "which"): offering("chatgpt", "gemini"),
    ("wait", "ask_id"): known_words.questions,
    ("answer", "ask_id"): known_words.questions,
    **{(name, "identifier"): known_words.deliveries for name in ("revise", "recall", "trace", "why")},
    **{(f"approvals {name}", "identifier"): known_words.approvals for name in ("show", "approve", "reject")},
    **{(f"attention {name}", "notice"): known_words.notices for name in ("ack", "snooze", "withdraw")},
    **{(f"attention {name}", "who"): known_words.people for name in ("show", "set", "simulate", "away")},
    ("attention mute", "agent"): known_words.butlers,
    **{(f"people {name}", "who"): known_words.people for name in ("show", "edit", "remove", "history")},
    ("pair", "who"): known_words.people,
    **{(f"token {name}", "id"): known_words.tokens for name in ("show", "revoke")},
}


def offer_of(command: str, parameter: Parameter) -> Offer | None:
    """`command` is its path below `postroom`."""
    names = parameter.opts if parameter.param_type_name == "option" else [str(parameter.name)]
    found = [OF_COMMANDS.get((command, name)) or OPTIONS.get(name) for name in names]
    return next((one for one in found if one is not None), None)


def teach(path: str, command: Command) -> None:
    """Let each of its parameters offer what the table says."""
    for one in command.params:
        if (offer := offer_of(path, one)) is not None:
            vars(one)["shell_complete"] = partial(_items, offer)


def _items(offer: Offer, ctx: Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word, help=about or None) for word, about in offer(ctx, incomplete)]
