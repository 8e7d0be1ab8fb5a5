"""Every command, and how all of them fail: one sentence, no traceback."""

from __future__ import annotations

import itertools
import sys
from typing import Annotated

import typer

from postroom.cli.failure import failure
from postroom.cli.on_demand import Group
from postroom.cli.output import Home, Json, say
from postroom.domain.errors import PostroomError, UserError

# Where each one is, and what it says of itself: the list of all of them imports none.
_LISTED = {
    "up": (
        "postroom.cli.up:up",
        "Run a household: switchboard, butlers, messenger, API and, without credentials, the sandbox.",
    ),
    "init": ("postroom.cli.init:init", "Write an editable household: settings and one folder per butler."),
    "login": (
        "postroom.cli.login:login",
        "Print a link that signs you in to the console; it works once, for ten minutes.",
    ),
    "login-mail": (
        "postroom.cli.login_mail:login_mail",
        "Let Google or Microsoft grant access to a mailbox, without a password.",
    ),
    "notify": (
        "postroom.cli.notify:notify",
        "Send a message; exits with 0 delivered, stored or held, 3 muted, 1 refused or failed; "
        "POSTROOM_URL: elsewhere.",
    ),
    "revise": (
        "postroom.cli.correct:revise",
        "Give a message another text: in place, by an edit, or by a correction in its thread; exits with 1 when not.",
    ),
    "recall": (
        "postroom.cli.correct:recall",
        "Take a message back: withdraw it, delete it, or say in its thread to disregard it; exits with 1 when not.",
    ),
    "ask": (
        "postroom.cli.ask:ask",
        "Ask people; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled.",
    ),
    "wait": (
        "postroom.cli.wait:wait",
        "Wait for an answer; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled.",
    ),
    "answer": (
        "postroom.cli.answer:answer",
        "Answer a question as the person it asks; exits with 0 when the answer counts.",
    ),
    "asks": (
        "postroom.cli.asks:asks",
        "List questions: of an agent what it asked, of a person what asks them, of the owner all.",
    ),
    "trace": (
        "postroom.cli.trace:trace",
        "Show every hop, attempt and receipt of a request, straight from the ledger, or from POSTROOM_URL.",
    ),
    "why": (
        "postroom.cli.why:why",
        "Say in plain English why a message or question is where it is, from the ledger or from POSTROOM_URL.",
    ),
    "owner": (
        "postroom.cli.owner:owner",
        "Show where the owner is reached, or find the owner's Telegram chat and write it into the settings.",
    ),
    "channels": (
        "postroom.cli.channels:channels",
        "List each channel with its kind, what it can do and its health; POSTROOM_URL names a household elsewhere.",
    ),
    "doctor": (
        "postroom.cli.doctor:doctor",
        "Check Python, files, ports, loops, database, Redis, credentials, clock and display; "
        "exits with 1 on a problem.",
    ),
    "config": ("postroom.cli.config:config", "Print the effective settings with their source; secrets are hidden."),
    "desk": (
        "postroom.cli.desk:desk",
        "Serve the popup tool `notify` to an MCP client on this machine, and show the household's questions to you.",
    ),
    "migrate": ("postroom.cli.migrate:migrate", "Bring the database to the newest schema; `up` does it by itself."),
    "worker": (
        "postroom.cli.up:worker",
        "Add a delivery worker to a household on PostgreSQL: one more process that sends what is stored. "
        "It has no port and no page, and needs the household's settings, credentials and tokens; "
        "`postroom up` has all the rest, and sends, too. Start as many as you like, on any machine, and "
        "stop each at any time.",
    ),
    "prune": (
        "postroom.cli.prune:prune",
        "Remove settled deliveries, logs, sessions, read notes and old questions' words.",
    ),
    "attention": (
        "postroom.cli.attention:app",
        "When people are shown what agents have to say, and what will happen to it.",
    ),
    "approvals": ("postroom.cli.approvals:app", "Decide what may be sent."),
    "audit": ("postroom.cli.audit:audit", "List who signed in, who decided and who changed what, newest first."),
    "token": ("postroom.cli.token:app", "Make, list and revoke the tokens callers identify themselves with."),
    "people": ("postroom.cli.people:people_app", "Everybody this household knows: the owner, members and contacts."),
    "pair": (
        "postroom.cli.pair:pair",
        "Show a code that a person sends to the bot, once, to prove an account of theirs; by e-mail, send a link.",
    ),
    "contacts": ("postroom.cli.contacts:contacts_app", "The people this household can write to."),
    "connectors": ("postroom.cli.connectors:app", "Connect ChatGPT and Gemini."),
    "connect": (
        "postroom.cli.connect:connect",
        "Connect a coding agent: its own files are shown, written and, with --remove, restored.",
    ),
    "hook": (
        "postroom.cli.hook:hook",
        "Answer a coding agent's hook with what the person says on the phone; says nothing in every doubt.",
    ),
    "headless": (
        "postroom.cli.headless:headless",
        "Run Claude Code without a screen: it ends at a permission, asks on the phone, and is resumed with the answer.",
    ),
    "bridge": (
        "postroom.cli.bridge:bridge",
        "Carry a connected client's MCP between its standard streams and the household; clients start it.",
    ),
    "service": ("postroom.cli.service:app", "Run the household as a service of your own account."),
}


_SECTIONS = {
    "Start": ("up", "init", "login", "connect", "service", "doctor"),
    "Tell and ask": ("notify", "revise", "recall", "ask", "wait", "answer"),
    "See and decide": ("asks", "approvals", "attention", "trace", "why", "audit", "channels"),
    "People": ("owner", "people", "contacts", "pair"),
    "Connect": ("token", "connectors", "login-mail", "desk", "headless", "hook", "bridge"),
    "Run": ("config", "migrate", "prune", "worker"),
}


class Commands(Group):
    listed = _LISTED
    sections = _SECTIONS


app = typer.Typer(
    name="postroom",
    cls=Commands,
    help="Carries messages between AI agents and people. Alone, it says what runs and what waits.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than all the rest
)


def _say_version(asked: bool) -> None:
    from postroom.system.settings.version import package_version

    if asked:
        say(f"postroom {package_version()}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Carries messages between AI agents and people. Alone, it says what runs and what waits."""
    if context.invoked_subcommand is None:
        from postroom.cli.standing import show_standing

        show_standing(home, json)
    elif home is not None or json:
        context.fail(f"--home and --json go after the command: postroom {context.invoked_subcommand} …")


def main() -> None:
    if "--json" in itertools.takewhile(lambda word: word != "--", sys.argv):
        from postroom.cli.json_errors import run

        sys.exit(run(app))
    try:
        app()
    except (UserError, PostroomError) as error:
        sys.stderr.write(f"postroom: {failure(error)}\n")
        sys.exit(1)
