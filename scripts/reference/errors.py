"""docs/reference/errors.md: every error a caller can meet, from the classes themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from scripts.reference.markdown import code, page, table

from postroom.cli.json_errors import USER_HINTS
from postroom.inbox import rules
from postroom.kernel.values import errors
from postroom.kernel.values.errors import HINTS, WIRE, ErrorClass, PostroomError, Refused

_INTRODUCTION = """\
`notify`, the messenger's tools and the switchboard answer with `error_message`, `error_class` and `retryable`
(`error` itself is the sentence for a wrong argument of `notify`, otherwise an object).
Contacts, intents and the adapters answer with
`{"ok": false, "error": {"code", "message", "category", "retryable", "fields"}}` and an HTTP status.
*Retryable* means: the same request may succeed later as it is."""
_INTERNAL = """\
`internal_error` stands in both tables. As a class it is final: such a delivery is not tried again. As the code of a
request it may pass: the same request may be repeated, under the same key."""
_TYPED = """\
A command that fails says in one line what is wrong and what to do. Under `--json` it says it on standard error as
`{"error": {"code", "message", "hint"}}`; `code` is one of the table above, or one of these."""
_CLASSES = {
    ErrorClass.VALIDATION: "the request can never succeed as written",
    ErrorClass.OVERLOAD: "our own limits refuse for now; `retry_after_seconds` says for how long",
    ErrorClass.UNAVAILABLE: "somebody we need could not be reached, or said no for now",
    ErrorClass.TIMEOUT: "nobody answered in time",
    ErrorClass.INTERNAL: "a fault of ours",
}
_GATE = [
    ("401", "no token, or one that nobody has", "no"),
    ("403", "this caller has no business at this port, or the page's origin is not allowed", "no"),
    ("413", "the body is larger than a megabyte", "no"),
    ("421", "the port was called by a name that is not in `allowed_hosts`", "no"),
]


def errors_page() -> str:
    classes = table(
        ("`error_class`", "retryable", "meaning"),
        [(code(one), _yes(one in errors.RETRYABLE), meaning) for one, meaning in _CLASSES.items()],
    )
    raised = table(("error", "`error_class`", "retryable", "meaning"), list(_raised()))
    codes = table(
        ("`code`", "HTTP", "category", "retryable", "what to do"),
        [
            (code(name), str(wire.status), str(wire.category), _yes(wire.retryable), HINTS[name])
            for name, wire in WIRE.items()
        ],
    )
    typed = table(("`code`", "what to do"), [(code(name), hint) for name, hint in USER_HINTS.items()])
    told = [rules.validation_error(), rules.rate_limited(), rules.failed("…")]
    actions = table(("`action`", "message"), [(code(one["action"]), one["message"]) for one in told])
    return page(
        "Errors",
        _INTRODUCTION,
        [
            f"## Classes\n\n{classes}",
            f"## What stands behind them\n\nThe message of an answer says which of these it was.\n\n{raised}",
            f"## Contacts, intents and adapters\n\n{_INTERNAL}\n\n{codes}",
            f"## On the command line\n\n{_TYPED}\n\n{typed}",
            f"## `send_notification`\n\n{actions}",
            f"## At the gate of every port\n\n{table(('HTTP', 'meaning', 'retryable'), _GATE)}",
        ],
    )


def _raised() -> Iterator[tuple[str, str, str, str]]:
    """In the order they are written, which is that of the tree."""
    known = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, PostroomError)]
    told = dict(_tree())
    for one in sorted(known, key=lambda one: list(told).index(one.__name__)):
        if one not in (PostroomError, Refused):  # what is refused has a table of its own
            yield (
                code(one.__name__),
                code(one.error_class),
                _yes(one.error_class in errors.RETRYABLE),
                told[one.__name__],
            )


def _tree() -> Iterator[tuple[str, str]]:
    """The drawing in the module's own docstring."""
    for line in (errors.__doc__ or "").splitlines():
        name, _, meaning = line.strip(" │├└─").partition("  ")
        if name.isidentifier() and meaning.strip():
            yield name, meaning.strip()


def _yes(value: bool) -> str:
    return "yes" if value else "no"
