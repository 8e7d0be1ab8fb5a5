"""docs/reference/errors.md: every error a caller can meet, from the classes themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from scripts.reference.markdown import code, page, table

from postroom.cli.helping import USER_HINTS
from postroom.inbox import rules
from postroom.kernel.values import errors
from postroom.kernel.values.errors import HINTS, Code, ErrorClass, PostroomError, Refused

_INTRODUCTION = """\
`notify`, whatever else sends or corrects, butlers and the switchboard answer with `error_class` and `retryable`
(`error` itself is the sentence for a wrong argument of `notify`, otherwise an object; who sends finds the sentence in
`error_message` in both cases). The messenger's tools that look and repair answer with one sentence: `{"error": "…"}`.
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
_RAISED: dict[type[PostroomError], str] = {
    errors.ValidationError: "the request can never succeed as written",
    errors.OverloadRejected: "our own limits refuse for now",
    errors.TargetUnavailable: "the provider refused, or could not be reached: not sent",
    errors.ProviderThrottled: "it told us to wait (429)",
    errors.CredentialsRefused: "it does not accept us: only a change of the settings helps",
    errors.ProviderFailed: "it broke while answering (500, 502, 504): believed, but not sworn to",
    errors.CircuitOpenError: "we did not even try",
    errors.StoreUnavailable: "our own database; nothing was accepted",
    errors.OutOfDescriptors: "this process can open nothing more; nothing left it",
    errors.DeliveryTimeout: "nothing was handed over before the deadline",
    errors.OutcomeUncertain: "handed over, no answer: it may have been sent",
    errors.InternalError: "our bug",
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
        [(code(one), str(one.status), str(one.category), _yes(one.retryable), HINTS[one]) for one in Code],
    )
    typed = table(("`code`", "what to do"), [(code(name), hint) for name, hint in USER_HINTS.items()])
    limited = errors.OverloadRejected("", limit_type="", retry_after_seconds=0.0)
    told = [rules.not_created(errors.ValidationError("")), rules.not_created(limited), rules.failed("…")]
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
    """In the order of the tree; what is refused has a table of its own."""
    known = {one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, PostroomError)}
    if missing := known - {PostroomError, Refused, *_RAISED}:
        raise LookupError(f"no meaning for {', '.join(sorted(one.__name__ for one in missing))}")
    for one, meaning in _RAISED.items():
        yield code(one.__name__), code(one.error_class), _yes(one.error_class in errors.RETRYABLE), meaning


def _yes(value: bool) -> str:
    return "yes" if value else "no"
