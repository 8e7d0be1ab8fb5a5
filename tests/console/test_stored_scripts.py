"""A hundred texts that would run as scripts, through every field of a delivery: shown, and none runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from sqlalchemy import Connection, insert

from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_requests
from postroom.household.store import connect_store
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import IdMint
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.console.payloads import PAYLOADS, WATCH
from tests.household.living import LIFTED, QUICK
from tests.support.delivery_rows import attempt_row, request_row

pytestmark = [*IN_BROWSER, pytest.mark.timeout(180)]
_TOGETHER = 5  # in one text: any of them that ran would be noticed
_mint = IdMint()


def hostile(payload: str, now_us: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """One text in every place that a person, a model or a provider can write to."""
    row = request_row(
        now_us,
        id=_mint.mint(now_us),
        request_id=payload[:128],
        origin_butler=payload,
        target_identity=payload,
        address=payload,
        order_key="telegram:1000",
        subject=payload,
        message_content=payload,
        request_envelope=json.dumps({"delivery": {"subject": payload, "message": payload}}),
        status="dead_lettered",
        terminal_error_class="timeout",
        terminal_error_message=payload,
        provider_delivery_id=payload,
        trace_id=payload,
        terminal_at=now_us,
    )
    attempt = attempt_row(row, 1, 3.0, "retryable_error") | {
        "error_class": payload,
        "error_message": payload,
        "provider_response": payload,
    }
    letter = {
        "id": _mint.mint(now_us),
        "delivery_request_id": row["id"],
        "quarantine_reason": "retries_exhausted",
        "error_class": payload,
        "error_summary": payload,
        "total_attempts": 1,
        "replay_count": 0,
        "discarded_at": now_us,
        "discard_reason": payload,
        "created_at": now_us,
    }
    return row, attempt, letter


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        now_us = SystemClock().now_us()
        rows = [hostile("\n".join(PAYLOADS[n : n + _TOGETHER]), now_us) for n in range(0, len(PAYLOADS), _TOGETHER)]

        def work(connection: Connection) -> None:
            for place, table in enumerate((delivery_requests, delivery_attempts, delivery_dead_letter)):
                connection.execute(insert(table), [row[place] for row in rows])

        store = connect_store(one.home.settings)
        await store.database.write(work)
        await store.database.close()
        yield one


async def ran(page: Page) -> int:
    return int(await page.evaluate("window.count"))


async def test_no_text_runs_on_any_page(site: Site) -> None:
    page = await site.signed_in()
    await page.add_init_script(WATCH)
    lists = ["/", "/deliveries", "/deliveries?q=ran", "/dead-letters?discarded=yes", "/health"]
    lists += ["/conversations", "/conversations/owner"]
    ids = [(row["delivery_request_id"], row["id"]) for row in site.home.rows("delivery_dead_letter")]
    ones = [path for delivery, letter in ids for path in (f"/deliveries/{delivery}", f"/dead-letters/{letter}")]

    for path in lists + ones:
        answer = await page.goto(site.url + path, wait_until="domcontentloaded")
        assert answer is not None and answer.status == 200, path
        assert await ran(page) == 0, path
    assert len(ones) == 2 * len(PAYLOADS) // _TOGETHER and site.mishaps == []


async def test_no_text_runs_when_it_is_searched_for(site: Site) -> None:
    page = await site.signed_in()
    await page.add_init_script(WATCH)
    for payload in PAYLOADS[:12]:
        await page.goto(f"{site.url}/deliveries")
        await page.get_by_label("Search").fill(payload)
        await page.get_by_role("button", name="Find").click()
        await page.wait_for_load_state()

        assert await ran(page) == 0 and site.mishaps == []


async def test_the_watch_notices_a_script_that_does_run(site: Site) -> None:
    page = await site.page()
    await page.add_init_script(WATCH)
    await page.goto("data:text/html,<img src=x onerror=top.ran()>")
    await page.wait_for_function("window.count > 0")

    assert await ran(page) == 1
