"""Figures in a browser and as files: the same as the API's and as the ledger's rows, for those who may see them."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.app.living import LIFTED, QUICK
from tests.doors.console.appearance import is_accessible
from tests.doors.console.asked import ANNA, admit
from tests.doors.console.browser import Site, console_site, violations
from tests.doors.console.http import calling
from tests.doors.console.seeded import Seeded, seed

from postroom.domain.principal import OPERATOR, Principal
from postroom.domain.time import parse_text
from postroom.system.clock import SystemClock

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]
ZONE = {"attention": {"zone": "Europe/Vienna"}}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, ZONE) as one:
        await admit(one.home, ANNA)
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def empty(site: Site) -> tuple[str, list[str]]:
    """What the page says and what is wrong with it while there is nothing to count."""
    page = await site.signed_in(path="/figures")
    return await page.locator(".empty").inner_text(), await violations(page)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def seeded(site: Site, empty: tuple[str, list[str]]) -> Seeded:
    return await seed(site.home, SystemClock().now_us())


async def figures(site: Site, query: str = "", who: Principal = OPERATOR) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {site.home.tokens.token_of(who)}"}
    base = site.home.household.addresses["api"]
    async with site.home.http.get(f"{base}/v1/figures{query}", headers=headers) as response:
        assert response.status == 200, await response.text()
        answer: dict[str, Any] = await response.json()
        return answer


async def table(site: Site, key: str, query: str = "", who: Principal = OPERATOR) -> list[dict[str, str]]:
    async with calling(site.home) as caller:
        cookies = await caller.sign_in(await site.link(who))
        answer = await caller.get(f"/console/export/figures/{key}.csv{query}", cookies)
    assert answer.status == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"), newline="")))


async def test_an_empty_page_says_how_to_fill_it(empty: tuple[str, list[str]]) -> None:
    said, wrong = empty

    assert "postroom notify" in said
    assert wrong == []


@pytest.mark.requirement("side:figures-agree", "side:figures-from-the-ledger")
@pytest.mark.parametrize("span", ["24h", "7d", "30d"])
async def test_page_file_and_api_agree_with_the_ledger(site: Site, seeded: Seeded, span: str) -> None:
    answer = (await figures(site, f"?span={span}"))["deliveries"]
    rows = await table(site, "volume", f"?span={span}")
    page = await site.signed_in(path=f"/figures?span={span}")
    shown = await page.locator("#table-volume tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1, 5).map(cell => cell.textContent.trim().replaceAll(',', '')))"
    )

    titles = {"Accepted": "accepted", "Delivered": "delivered", "Failed": "failed", "Dead letters": "dead_lettered"}
    told = [[str(one[name]) for name in titles.values()] for one in answer["stretches"]]
    assert [[row[title] for title in titles] for row in rows] == told == shown
    assert [row["From"] for row in rows][1:] == [one["since"] for one in answer["stretches"]][1:]  # the first moves on
    kept = [one for one in seeded.deliveries if first_us(answer) <= one["created_at"]]
    states = Counter(one["status"] for one in kept)
    assert [sum(int(row[title]) for row in rows) for title in titles] == [
        len(kept),
        states["delivered"],
        states["failed"],
        states["dead_lettered"],
    ]
    await expect(page.locator("figure.stacked figcaption").first).to_contain_text(answer["sentence"])


def first_us(answer: dict[str, Any]) -> int:
    return parse_text(answer["stretches"][0]["since"])


@pytest.mark.requirement("side:figures-agree")
async def test_rankings_notices_and_questions_agree_too(site: Site, seeded: Seeded) -> None:
    answer = await figures(site, "?span=30d")
    for key, kind, title, word in (
        ("channels", "deliveries", "Channel", "Accepted"),
        ("agents", "deliveries", "Agent", "Accepted"),
        ("notice-agents", "notices", "Agent", "Notices"),
        ("question-agents", "questions", "Agent", "Asked"),
    ):
        told = answer[kind]["by_channel" if key == "channels" else "by_agent"]
        rows = await table(site, key, "?span=30d")
        assert {row[title]: int(row[word]) for row in rows} == {
            name: one.get("accepted", one.get("asked")) for name, one in told.items()
        }
    states = await table(site, "notice-states", "?span=30d")
    assert sum(int(row["Notices"]) for row in states) == answer["notices"]["total"]["accepted"]


async def test_a_filter_counts_on_page_and_file(site: Site, seeded: Seeded) -> None:
    page = await site.signed_in(path="/figures?span=30d")
    await page.get_by_label("Channel", exact=True).select_option("email")
    await page.get_by_role("button", name="Show").click()
    await page.get_by_text("As a table: How much was sent").click()
    address = await page.locator("#table-volume a").get_attribute("href")

    assert address == "/console/export/figures/volume.csv?span=30d&channel=email"
    rows = await table(site, "volume", "?span=30d&channel=email")
    answer = await figures(site, "?span=30d&channel=email")
    assert sum(int(row["Accepted"]) for row in rows) == answer["deliveries"]["total"]["accepted"]
    await expect(page.locator("main")).to_contain_text("These are of all channels")


@pytest.mark.requirement("side:figures-of-ones-own")
async def test_a_member_sees_only_their_own(site: Site, seeded: Seeded) -> None:
    page = await site.signed_in(ANNA, path="/figures?span=30d")

    await expect(page.locator("h1")).to_have_text("Figures")
    await expect(page.locator(".empty")).to_contain_text("When an agent writes to you")
    async with calling(site.home) as caller:
        cookies = await caller.sign_in(await site.link(ANNA))
        answers = [await caller.get(f"/console/export/figures/{key}.csv", cookies) for key in ("volume", "questions")]
    assert [one.status for one in answers] == [404, 200]
    assert all(row["Asked"] == "0" for row in csv.DictReader(io.StringIO(answers[1].text[1:], newline="")))


@pytest.mark.requirement("side:figures-without-sight")
async def test_pictures_are_accessible(site: Site, seeded: Seeded) -> None:
    page = await site.signed_in(path="/figures?span=7d")
    drawn = await page.locator('svg[role="img"]').evaluate_all(
        "all => all.map(one => one.querySelector('title').textContent + '|' + one.querySelector('desc').textContent)"
    )

    assert len(drawn) == 6
    assert all(re.fullmatch(r".+\|.+ The table below has the figures\.", one) for one in drawn)
    assert await page.locator("figure").count() == await page.locator("figure details table caption").count() == 11
    await is_accessible(page, "figures")
    assert site.mishaps == []
