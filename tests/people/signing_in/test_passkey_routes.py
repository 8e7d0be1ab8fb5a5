"""Passkeys in a real browser with a virtual authenticator, and what a stranger could send instead."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import CDPSession, Page, expect
from tests.console.browser import IN_BROWSER, PHONE, Site, is_wider_than_the_window, violations
from tests.console.comers import admissions, invitation, person

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]
_DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def local(address: str) -> str:
    """The same page under the name that has passkeys."""
    return address.replace("127.0.0.1", "localhost")


async def with_device(page: Page) -> CDPSession:
    device = await page.context.new_cdp_session(page)
    await device.send("WebAuthn.enable")
    await device.send("WebAuthn.addVirtualAuthenticator", {"options": _DEVICE})
    return device


async def posted(page: Page, path: str, **fields: str) -> dict[str, Any]:
    """As the page's own script posts."""
    answer = await page.evaluate(
        """async ([path, fields]) => {
            const answer = await fetch(path, {method: 'POST', body: new URLSearchParams(fields)});
            return {status: answer.status, body: await answer.json()};
        }""",
        [f"/console{path}", fields],
    )
    return dict(answer)


@pytest.mark.requirement("side:passkeys")
async def test_register_sign_out_sign_in_and_every_wrong_way(site: Site) -> None:
    one = await person(site.home, "Wanda")
    page = await site.page()
    await with_device(page)
    await page.goto(local(await invitation(site.home, one)))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(local(site.url) + "/")
    await page.goto(local(site.url) + "/account")
    assert await violations(page) == []

    await page.get_by_label("What you call it").fill("my <b>phone</b>")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_role("rowheader", name="my <b>phone</b>")).to_be_visible()
    await page.get_by_role("button", name="Sign out", exact=True).first.click()
    await expect(page.get_by_role("heading", name="Signed out")).to_be_visible()

    sent: list[dict[str, list[str]]] = []
    page.on("request", lambda one: sent.append(parse_qs(one.post_data or "")) if one.method == "POST" else None)
    await page.goto(local(site.url) + "/inbox")
    assert await violations(page) == []
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await page.wait_for_url(local(site.url) + "/inbox")
    await expect(page.get_by_text("Signed in as Wanda (member)")).to_be_visible()

    shown = next(one["credential"][0] for one in sent if "credential" in one)
    replayed = await posted(page, "/login/passkey", credential=shown)
    assert replayed["status"] == 403, replayed

    await page.goto(local(site.url) + "/account")
    await expect(page.get_by_text("passkey", exact=True).first).to_be_visible()
    await page.get_by_role("button", name="Remove").click()
    await page.goto(local(site.url) + "/account")
    await expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_visible()  # its sessions ended
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("not known here")
    assert site.mishaps == []


@pytest.mark.requirement("side:passkeys")
async def test_a_passkey_of_one_who_is_no_longer_invited_signs_in_no_one(site: Site) -> None:
    one = await person(site.home, "Xaver")
    page = await site.page()
    await with_device(page)
    await page.goto(local(await invitation(site.home, one)))
    await page.get_by_role("button", name="Sign in").click()
    await page.goto(local(site.url) + "/account")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_role("button", name="Remove")).to_be_visible()

    async with admissions(site.home) as here:
        await here.links.withdraw(one.id)

    await page.goto(local(site.url) + "/login")
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("may not sign in any more")


async def test_a_bare_address_says_where_passkeys_are(site: Site) -> None:
    page = await site.page()

    await page.goto(site.url + "/login")

    await expect(page.get_by_role("link", name="http://localhost")).to_be_visible()
    await expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
    refused = await posted(page, "/login/passkey/options")
    assert refused["status"] == 403 and "localhost" in json.dumps(refused["body"])
    assert urlsplit(page.url).hostname == "127.0.0.1"


async def test_the_owner_invites_and_sees_who_did_what(site: Site) -> None:
    one = await person(site.home, "Yusuf")
    page = await site.signed_in(path="/access")
    assert await violations(page) == []

    await page.get_by_role("button", name="Show a link for Yusuf").click()
    link = await page.locator("code").inner_text()
    theirs = await site.page(viewport=PHONE)
    await theirs.goto(link)
    await theirs.get_by_role("button", name="Sign in").click()
    await theirs.wait_for_url(site.url + "/")
    await page.goto(site.url + f"/audit?who={one.id}")

    await expect(page.get_by_text("signed in by an invitation")).to_be_visible()
    assert await violations(page) == []
    await page.goto(site.url + "/access")
    await page.get_by_role("button", name="Sign out everywhere as Yusuf").click()
    await expect(page.get_by_text("Yusuf was signed out on 1 device.")).to_be_visible()
    await theirs.goto(site.url + "/account")
    await expect(theirs.get_by_role("button", name="Send me a link")).to_be_visible()
    assert not await is_wider_than_the_window(theirs)


async def test_without_scripts_there_is_the_link(site: Site) -> None:
    page = await site.page(java_script_enabled=False)

    await page.goto(local(site.url) + "/login")

    await expect(page.get_by_role("button", name="Send me a link")).to_be_visible()
    await expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
