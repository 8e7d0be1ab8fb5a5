"""`postroom trace`: everything that happened to one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from postroom.cli.attention_desk import attention_desk
from postroom.cli.elsewhere import Elsewhere, elsewhere, path_of
from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.people_words import plain
from postroom.domain.time import parse_text, to_datetime
from postroom.domain.wall_clock import known_zone, zone_word
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process
from postroom.work.delivery.afterwards import asked_first, said_later

_MOST_REPLY_LINES = 200


def trace(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="A request id or a delivery id.")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Show every hop, attempt and receipt of a request, straight from the ledger, or from POSTROOM_URL."""
    settings, _ = from_process({"home": home, "database_url": database})
    found = _traced(settings, identifier, elsewhere(settings, home, database))
    if json:
        say_json(found)
        return
    for line in timeline(found, attention_desk(settings, home, database).zone()):
        say(line)


def _traced(settings: Settings, identifier: str, there: Elsewhere | None) -> dict[str, Any]:
    if there is not None:
        found: dict[str, Any] = there.get(path_of("deliveries", identifier, "trace"))["trace"]
        return found
    return asyncio.run(_from_ledger(settings, identifier))


async def _from_ledger(settings: Settings, identifier: str) -> dict[str, Any]:
    from postroom.app.ledger_view import ledger_view

    async with ledger_view(settings) as view:
        return await view.trace(identifier)


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
            lines.append(f"{'':29}{asked_first(delivery['channel'], attempt)}")
    for receipt in delivery["receipts"]:
        lines.append(
            f"{at(receipt['received_at'])}  receipt {receipt['provider_delivery_id']} (part {receipt['part']})"
        )
    news = [f"{at(one['at'])}  {said_later(one)}" for one in delivery.get("news") or ()]
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
