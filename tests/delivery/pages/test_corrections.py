"""The forms that correct a message: without script, with proof of the page, and with a yes before a recall."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.console.http import Caller
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


async def signed_in(home: Living) -> tuple[Caller, dict[str, str], str]:
    caller = Caller(home.household.addresses["api"].rstrip("/"), home.http)
    cookies = await caller.sign_in(await home.household.sign_in())
    return caller, cookies, await caller.form_token(cookies)


@pytest.mark.requirement("content:corrections-are-seen")
async def test_a_message_is_revised_and_recalled_on_its_page(home: Living) -> None:
    caller, cookies, token = await signed_in(home)
    delivery_id = (await home.notify(message="Meet at 8 <b>sharp</b>"))["delivery"]["delivery_id"]
    page = f"/console/deliveries/{delivery_id}"

    before = (await caller.get(page, cookies)).text
    revised = await caller.post(f"{page}/revise", {"form_token": token, "message": "Meet at 9"}, cookies)
    unsure = await caller.post(f"{page}/recall", {"form_token": token}, cookies)
    [kept] = await home.received()
    recalled = await caller.post(f"{page}/recall", {"form_token": token, "sure": "yes"}, cookies)
    forged = await caller.post(f"{page}/recall", {"form_token": "0" * 64, "sure": "yes"}, cookies)
    after = (await caller.get(page, cookies)).text
    listed = (await caller.get("/console/deliveries", cookies)).text
    [gone] = await home.received()

    assert f'action="{page}/revise"' in before and "Meet at 8 &lt;b&gt;" in before
    assert [one.status for one in (revised, unsure, recalled)] == [303] * 3
    assert forged.status >= 400
    assert (kept["text"], kept["is_deleted"], gone["is_deleted"]) == ("Meet at 9", False, True)
    assert "A revision was asked for" in after and "A recall was asked for" in after
    assert f'action="{page}/revise"' not in after
    assert "recalled" in listed
