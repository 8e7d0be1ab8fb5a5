"""What each command prints under `--json`, or why it has none: for the reference, and held against the commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with these keys, or a list of such objects; `more` says what stands there besides."""

    keys: tuple[str, ...]
    is_list: bool = False
    more: str = ""

    @property
    def words(self) -> str:
        named = ", ".join(f"`{key}`" for key in self.keys)
        said = f"a list of objects with {named}" if self.is_list else f"an object with {named}"
        return f"{said}; {self.more}" if self.more else said


def _object(words: str, more: str = "") -> Shape:
    return Shape(tuple(words.split()), more=more)


def _list(words: str, more: str = "") -> Shape:
    return Shape(tuple(words.split()), is_list=True, more=more)


_PERSON = "person_id name aliases role trusted zone language default_butler addresses agent_address source"
_QUESTION = "ask_id status asked answer answered_by"
_ACTION = "action_id status risk_tier origin_butler channel recipient preview content_hash expires_at delivery"
_CORRECTED = "status revises delivery_id how message"
_NOTICE = "notice_id state person agent"
_TOKEN = "principal id label token"  # noqa: S105  # names of keys

SHAPES: Final[dict[str, Shape]] = {
    "": _object(
        "running url home version sandbox started_at waiting channels_failing problem next",
        "`waiting` counts `questions`, `approvals`, `unread`, `held` and `dead_letters`, null of what is not known",
    ),
    "init": _object("home roster command"),
    "login": _object("principal url", "with `--end` `ended`, how often they were signed out"),
    "login-mail": _object("account address provider granted"),
    "notify": _object(
        "schema_version status request_context delivery",
        "also when it failed: `status` is `error`, with `error`, `error_class` and `retryable`",
    ),
    "revise": _object(_CORRECTED),
    "recall": _object(_CORRECTED),
    "ask": _object(_QUESTION),
    "wait": _object(_QUESTION),
    "answer": _object(_QUESTION),
    "asks": _list(_QUESTION),
    "audit": _list("id at actor kind act subject detail door"),
    "trace": _object("request_id hops deliveries refusals"),
    "why": _list("id why"),
    "owner": _object("name telegram_chat_id email addresses", "with `--telegram` `telegram_chat_id`, `name`, `file`"),
    "channels": _list("name kind configured capabilities health trouble"),
    "doctor": _list("subject ok detail advice"),
    "config": _object("home", "one more for each setting, each with `value` and `source`"),
    "desk": _object("shown popup theme", "with `--check` only"),
    "backup": _object("folder bytes"),
    "migrate": _object("before after"),
    "prune": _object("dry_run pruned"),
    "attention show": _object("person_id policy hash rules away figures plan"),
    "attention set": _object("person_id policy hash rules away"),
    "attention plan": _object("plan"),
    "attention simulate": _object("difference before after"),
    "attention ack": _object(_NOTICE),
    "attention snooze": _object(_NOTICE),
    "attention withdraw": _object(_NOTICE, "with `--key` `notices`, a list of them"),
    "attention mute": _object("person_id muted until"),
    "attention away": _object("person_id away"),
    "approvals list": _list(_ACTION),
    "approvals show": _object(_ACTION),
    "approvals approve": _object("status action"),
    "approvals reject": _object("status action"),
    "token create": _object(_TOKEN),
    "token show": _object(_TOKEN),
    "token list": _list("id principal for label created_at last_used_at"),
    "token revoke": _object("revoked ids"),
    "people list": _list(_PERSON),
    "people add": _object(_PERSON),
    "people show": _object(_PERSON),
    "people edit": _object(_PERSON),
    "people remove": _object("removed name"),
    "people history": _list("id at kind channel status"),
    "people import": _object("created updated skipped"),
    "pair": _object("person_id name channel code link_sent sent_to expires_at"),
    "contacts list": _list("id name aliases telegram_chat_id email agent_address trusted source"),
    "contacts import": _object("created updated skipped"),
    "connectors export": _object("folder files"),
    "connect": _object(
        "client scope written connected problem files",
        "with `--list` a list of objects with `client`, `title`, `installed`, `connected`, `problem`",
    ),
    "service install": _object("file written text failed"),
    "service remove": _object("file removed failed"),
    "service status": _object("file installed runs"),
}

WITHOUT: Final[dict[str, str]] = {
    "up": "it runs until it is stopped; what runs, `postroom --json` says",
    "worker": "it runs until it is stopped",
    "hook": "it speaks the protocol of the client that started it",
    "headless": "it prints what Claude Code prints; `--output-format json` is Claude Code's own",
    "bridge": "it carries MCP, which is JSON already",
}
