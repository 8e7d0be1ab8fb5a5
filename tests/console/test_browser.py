"""The judge of pages can find fault, and leaves a picture of it; a page that was lent comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.console import browser as judge
from tests.console.appearance import crooked
from tests.console.browser import IN_BROWSER, PHONE, Site, is_wider_than_the_window, path_of, violations

pytestmark = [*IN_BROWSER, pytest.mark.timeout(60)]
_CROOKED = """<title>x</title><main><table><tr><td></td><td>kept</td></tr></table>
    <p style="overflow:hidden;white-space:nowrap;width:3em">cut at the edge</p>
    <p style="overflow:hidden;text-overflow:ellipsis;white-space:nowrap;width:3em">shortened as meant</p>
    <p style="height:0;margin:0">below</p><p style="margin:0">above</p></main>"""
_PALE = "<html lang=en><title>x</title><main><h1 style='color:#eee;background:#fff;width:900px'>Pale</h1></main>"


async def test_what_is_wrong_is_named_and_a_picture_is_taken_of_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "PICTURES", tmp_path)
    page = await browser.new_page(color_scheme="dark", viewport={"width": PHONE["width"], "height": PHONE["height"]})
    await page.set_content(_PALE)

    assert [one.partition(":")[0] for one in await violations(page, ["color-contrast"])] == ["color-contrast"]
    assert await is_wider_than_the_window(page)
    assert [one.suffix for one in tmp_path.iterdir()] == [".png"]
    await page.close()


async def test_a_cell_with_nothing_in_it_words_cut_off_and_words_over_each_other_are_found(browser: Browser) -> None:
    page = await browser.new_page()
    await page.set_content(_CROOKED)

    assert await crooked(page) == ["empty: <td></td>", "cut: cut at the edge", "over each other: below | above"]
    await page.close()


async def test_a_page_that_was_lent_comes_back_as_it_was(site: Site) -> None:
    page = await site.signed_in(path="/deliveries")
    await page.evaluate("localStorage.setItem('left', 'behind')")
    await page.context.clear_cookies()
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    await site.end_test()

    again = await site.signed_in(path="/deliveries")

    assert again is page and path_of(again) == "/console/deliveries"
    assert await again.evaluate("[localStorage.length, window.innerWidth]") == [0, 1200]
    assert await site.signed_in() is not again  # which is in use
