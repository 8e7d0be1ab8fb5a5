"""Commands that look across the household: audit, trace, why; and revise, recall and prune."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final

import typer

from postroom.attention.commands import reader_zone
from postroom.delivery.commands import codes_in
from postroom.delivery.files.taking import DAY_US, read_span, retention
from postroom.kernel.acts.commands import Perform, Telling, as_json, read_typed, with_options_of
from postroom.kernel.acts.reading import made
from postroom.kernel.running.terminal import Database, Home, Json, ShowDone, bar, complain, say, say_json
from postroom.kernel.values.errors import Code, Mistyped, SettingsError
from postroom.kernel.values.ids import parse_text, to_datetime
from postroom.kernel.values.zones import known_zone, zone_word
from postroom.message.acts import RECALL, REVISE, Recall, Revise
from postroom.message.inbound import NewsKind
from postroom.overview.acts import AUDIT, MOST_ENTRIES, TRACE, WHY, AuditBody, ListAudit, TraceDelivery, WhyDelivery
from postroom.overview.lookups import DeliveryReason
from postroom.overview.why import asked_first, said_later
from postroom.people.commands import dated, everybody, performing_people, plain
from postroom.questions.acts import CancelAsk, ReviseAsk, WaitForAsk
from postroom.questions.commands import sentence
from postroom.questions.shapes import AskBody
from postroom.settings import Settings
from postroom.settings.glance import glance_from_process
from postroom.settings.load import from_process
from postroom.settings.reach import Elsewhere, ElsewhereError, performing, running_here

_LEDGER: Final = "postroom.household.delivery:opened_lookups"


# -- `postroom audit`: who signed in, who decided, who changed what --

Most = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many, newest first.")]


@with_options_of(ListAudit, AUDIT)
def audit(limit: Most = 50, home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
    """List who signed in, who decided and who changed what, newest first."""
    settings, _ = from_process({"home": home, "database_url": database})
    asked = read_typed(ListAudit, typed, AUDIT)
    found = _entries(performing(settings, "postroom.household.store:opened_audit", home, database), asked, limit)
    if json:
        say_json([one.model_dump() for one in found])
    else:
        names = _names(performing_people(settings, home, database), found)
        _print(found, names, reader_zone(settings, home, database))


def _entries(perform: Perform, asked: ListAudit, limit: int) -> list[AuditBody]:
    found: list[AuditBody] = []
    cursor: str | None = None
    while len(found) < limit:
        most = min(MOST_ENTRIES, limit - len(found))
        page = perform(made(ListAudit, person=asked.person, kind=asked.kind, cursor=cursor, limit=most))
        found += page.entries
        if (cursor := page.next_cursor) is None:
            break
    return found


def _names(perform: Perform, entries: list[AuditBody]) -> dict[str, str]:
    """Of people, by how the audit writes them; who is gone has none."""
    written = {who for one in entries for who in (one.actor, one.subject)}
    if not any(one.startswith("person:") for one in written):
        return {}
    return {f"person:{one.person_id}": plain(one.name) for one in everybody(perform)}


def _print(entries: list[AuditBody], names: dict[str, str], zone: str) -> None:
    for one in entries:
        who, subject = (names.get(each) or each for each in (one.actor, one.subject))
        about = " ".join(filter(None, (subject, one.detail)))
        say(f"{dated(one.at, zone)}  {who} {one.act}" + (f": {about}" if about else ""))
    if not entries:
        say("Nothing was done yet that is written down.")


# -- `postroom revise` and `postroom recall`: correct a message or a question from the shell --


_MARGIN_SECONDS = 20.0


@with_options_of(Revise, REVISE)
def revise(home: Home = None, json: Json = False, **typed: Any) -> None:
    """Give a message another text: in place, by an edit, or by a correction in its thread; exits with 1 when not."""
    one: Revise = read_typed(Revise, typed, REVISE)
    _correct(one.model_copy(update={"message": sys.stdin.read()}) if one.message == "-" else one, home, json)


@with_options_of(Recall, RECALL)
def recall(home: Home = None, json: Json = False, **typed: Any) -> None:
    """Take a message back: withdraw it, delete it, or say in its thread to disregard it; exits with 1 when not."""
    _correct(read_typed(Recall, typed, RECALL), home, json)


def _correct(one: Revise | Recall, home: str | None, json: bool) -> None:
    """As the owner of this household, or as the caller whose token POSTROOM_TOKEN is."""
    if one.delivery_id is None:
        raise Mistyped("ID: is required: say which message or question it is.")
    settings = glance_from_process({"home": home})
    there = running_here(settings, home)
    patience = settings.notify_wait_seconds if one.wait_seconds is None else one.wait_seconds
    answer, codes = there.ask(one, patience + _MARGIN_SECONDS), set[str]()
    if failed := answer["status"] in ("error", "too_late"):
        codes = codes_in(answer)
    if "unknown_delivery" in codes and (question := _asked(one, there)) is not None:
        say_json(question.model_dump(mode="json")) if json else say(_done(one, question))
        raise typer.Exit(0 if isinstance(one, Revise) or question.status == "cancelled" else 1)
    words = answer.get("error_message") or answer.get("message")
    if json:
        say_json(answer)
    elif failed and codes & {"unknown_delivery", "uuid_required"}:
        complain(f"Not corrected: '{one.delivery_id}' is the whole id of no message and no question of yours.")
    elif failed:
        complain(f"Not corrected: {words}")
    else:
        say(f"{words} Delivery {answer.get('delivery_id')}.")
    if failed:
        raise typer.Exit(1)


def _asked(one: Revise | Recall, there: Elsewhere) -> AskBody | None:
    """The question of that id afterwards; None when there is none."""
    try:
        there.ask(made(WaitForAsk, ask_id=one.delivery_id, wait_seconds=0))
    except ElsewhereError as error:
        if error.code == Code.NOT_FOUND:
            return None
        raise
    if one.idempotency_key is not None:
        raise SettingsError("--idempotency-key: a question takes none; the same change of it twice is one change.")
    if isinstance(one, Recall):
        return there.ask(made(CancelAsk, ask_id=one.delivery_id, reason=one.reason))
    if one.subject is not None:
        raise SettingsError("--subject: a question has none.")
    return there.ask(made(ReviseAsk, ask_id=one.delivery_id, question=one.message, format=one.format))


def _done(one: Revise | Recall, question: AskBody) -> str:
    if isinstance(one, Revise):
        return f"The question was changed where it stands. Question {question.ask_id}."
    if question.status == "cancelled":
        return f"The question was taken back. Question {question.ask_id}."
    return f"Not recalled: {sentence(question)}"


# -- `postroom prune`: remove what is settled and old --


def prune(
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Settled before that: 12h, 90d, 4w (retention.settled_days).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Deliveries per transaction.")] = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Remove settled deliveries, logs, sessions, read notes and old questions' words."""
    overrides = {"home": home, "database_url": database, "retention.batch_size": batch_size}
    settings, _ = from_process(overrides)
    settled = _span("--older-than", older_than) or settings.retention.settled_days * DAY_US
    counts = asyncio.run(_prune(settings, settled, dry_run=dry_run, quiet=json))
    if json:
        say_json({"dry_run": dry_run, "pruned": counts})
        return
    for line in summary(counts, dry_run=dry_run):
        say(line)


def summary(counts: dict[str, int], *, dry_run: bool) -> list[str]:
    verb = "would go" if dry_run else "gone"
    told = [f"  {number:>9,}  {name} {verb}" for name, number in counts.items() if number]
    return told or ["Nothing is old enough to go."]


def _span(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else read_span(text)
    except ValueError as error:
        raise Mistyped(f"{option} {text}: {error}.") from None


async def _prune(settings: Settings, settled_us: int, *, dry_run: bool, quiet: bool) -> dict[str, int]:
    from postroom.household.store import connected
    from postroom.kernel.database.schema import known_revision
    from postroom.kernel.running.clock import SystemClock
    from postroom.overview.pruning import Pruner

    words_us, audit_us = settings.retention.question_days * DAY_US, settings.retention.audit_days * DAY_US
    keep = retention(SystemClock().now_us(), settled_us, words_us, audit_us)
    async with connected(settings) as store:
        await store.database.read(known_revision)
        with bar("Pruning", quiet=quiet or dry_run) as show:
            gone = _Gone(show)
            batch = settings.retention.batch_size
            pruner = Pruner(database=store.database, batch=batch, tell=gone.more, files=store.files)
            counts = await pruner.estimate(keep)
            gone.of(sum(counts.values()))
            return counts if dry_run else await pruner.prune(keep)


class _Gone:
    """How many rows of all kinds have gone."""

    def __init__(self, show: ShowDone) -> None:
        self._show, self._done, self._total = show, 0, 0

    def of(self, total: int) -> None:
        self._total = total
        self._show(0, total)

    def more(self, _kind: str, number: int) -> None:
        self._done += number
        self._show(self._done, max(self._total, self._done))


# -- `postroom trace`: everything that happened to one request --


_MOST_REPLY_LINES = 200


@with_options_of(TraceDelivery, TRACE)
def trace(home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
    """Show every hop, attempt and receipt of a request, straight from the ledger, or from POSTROOM_URL."""
    settings, _ = from_process({"home": home, "database_url": database})
    Telling(
        says=lambda found, _: timeline(found.trace, reader_zone(settings, home, database)),
        prints=lambda found: found.trace,
    ).tell(read_typed(TraceDelivery, typed, TRACE), performing(settings, _LEDGER, home, database), json)


def timeline(found: dict[str, Any], zone: str) -> list[str]:
    """Whose hours they are stands behind each: what is looked for in another log has its own."""
    at = partial(_at, zone=zone)
    lines = [f"request {found['request_id']}"]
    if inbound := found.get("inbound"):
        went = f" to {inbound['butler']}" if inbound["butler"] else ""
        lines.append(plain(f"{at(inbound['received_at'])}  written on {inbound['channel']}: {inbound['status']}{went}"))
        lines.append(plain(f"{'':29}{inbound['reason']}"))
    for hop in found["hops"]:
        lines.append(f"{at(hop['created_at'])}  {hop['source_butler']} → {hop['part']}: {hop['status']}")
        if hop["error_message"]:
            lines.append(f"{'':29}{hop['error_class']}: {hop['error_message']}")
    for refusal in found["refusals"]:
        lines.append(f"{at(refusal['created_at'])}  refused ({refusal['limit_type']}): {refusal['error_message']}")
    for delivery in found["deliveries"]:
        lines += _delivery(delivery, at)
    return lines


def _at(moment: str, zone: str) -> str:
    there = to_datetime(parse_text(moment)).astimezone(known_zone(zone))
    return f"{there:%Y-%m-%d %H:%M:%S}.{there.microsecond // 1000:03} {zone_word(there)}"


def _delivery(delivery: dict[str, Any], at: Callable[[str], str]) -> list[str]:

    lines = [
        f"{at(delivery['created_at'])}  messenger: stored as delivery {delivery['id']} "
        f"({delivery['intent']} over {delivery['channel']} to {delivery['target_identity']})"
    ]
    for attempt in delivery["attempts"]:
        told = f": {attempt['error_class']}: {attempt['error_message']}" if attempt["error_class"] else ""
        lines.append(
            f"{at(attempt['started_at'])}  attempt {attempt['attempt_number']}: {attempt['outcome']} "
            f"in {attempt['latency_ms']:.1f} ms{told}"
        )
        if attempt.get("asked"):
            lines.append(f"{'':29}{asked_first(delivery['channel'], attempt['asked'])}")
    for receipt in delivery["receipts"]:
        lines.append(
            f"{at(receipt['received_at'])}  receipt {receipt['provider_delivery_id']} (part {receipt['part']})"
        )
    news = [f"{at(one['at'])}  {said_later(NewsKind(one['kind']), one['words'])}" for one in delivery.get("news") or ()]
    end = delivery["terminal_at"] or delivery["updated_at"]
    notes = [note for note in (delivery["waiting_reason"], delivery["terminal_error_message"]) if note]
    if delivery["possible_duplicate"]:
        notes.append("a duplicate is possible")
    lines.append(f"{at(end)}  {delivery['status']}" + (f" ({'; '.join(notes)})" if notes else ""))
    lines += news
    for one in delivery.get("replies") or ():
        lines.append(f"{at(one['at'])}  answered by mail from {plain(one['sender'])}, as it came:")
        lines += [f"{'':29}{plain(line)}" for line in one["original"].splitlines()[:_MOST_REPLY_LINES]]
    return lines


# -- `postroom why`: one paragraph on why a message or a question is where it is --


@with_options_of(WhyDelivery, WHY)
def why(home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
    """Say in plain English why a message or question is where it is, from the ledger or from POSTROOM_URL."""
    settings, _ = from_process({"home": home, "database_url": database})
    one = read_typed(WhyDelivery, typed, WHY)
    Telling(says=lambda found, _: _why_lines(found.reasons), prints=lambda found: as_json(one, found)["reasons"]).tell(
        one, performing(settings, _LEDGER, home, database), json
    )


def _why_lines(reasons: Sequence[DeliveryReason]) -> Iterator[str]:
    for number, one in enumerate(reasons):
        if len(reasons) > 1:
            yield f"{'' if number == 0 else chr(10)}{one.id}"
        yield one.why
