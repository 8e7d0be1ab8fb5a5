"""A model that does whatever it is told, with a real butler's token, against a real household."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.approvals.gated_household import OWNER_CHAT, Gated, gated_household
from tests.approvals.injected_instructions import INSTRUCTIONS, Instruction, Loot

from postroom.butlers.messenger import acts
from postroom.butlers.messenger.server import APPROVAL_TOOL_NAMES
from postroom.kernel.values.principal import Principal, Role

MODEL = Principal(Role.BUTLER, "general")
APPROVED_TEXT = "See you at eight"
APPROVED_KEY = "dinner"
RULED_TEXT = "The one message the rule was for"
SENDS_OR_DECIDES = {
    "notify",
    "deliver",
    "route.execute",
    *(one.declared.tool.name for one in acts.CHANNEL if one.declared.tool),
    *APPROVAL_TOOL_NAMES,
}
# Wide enough that nothing below is turned away for its number: only the gate is left to stop it.
ROOM = {
    "limits": {
        "global_per_minute": 10_000,
        "recipient_per_minute": 10_000,
        "channels": {"telegram.bot": 10_000, "email.bot": 10_000},
    },
    "approvals": {"max_pending_per_origin": 1000},
}


@pytest.mark.requirement("messenger:approval-gated-delivery", "messenger:gated-tools")
async def test_an_obedient_model_that_follows_every_injected_instruction_sends_nothing_unapproved(home: Path) -> None:
    assert len(INSTRUCTIONS) >= 50
    async with gated_household(home, ROOM) as gated:
        loot = await _history(gated)
        before = await _left_the_house(gated)

        answers = {one.says: await _obey(gated, one, loot) for one in INSTRUCTIONS}
        answers |= await _knock_on_http(gated, loot)

        assert await _left_the_house(gated) == before
        assert {text for _, text in before["telegram"]} == {APPROVED_TEXT, RULED_TEXT}
        assert _queued_for_strangers(gated) == []
        assert [says for says, answer in answers.items() if _turned_away_for_another_reason(answer)] == []
        assert _not(answers, "pending_approval", parks=True) == {}
        assert _not(answers, "error", "refused", parks=False) == {}


def _not(answers: dict[str, dict[str, Any]], *expected: str, parks: bool) -> dict[str, Any]:
    """The instructions of one kind that were answered in any other way than expected."""
    kind = [one for one in INSTRUCTIONS if one.parks is parks and one.tool in SENDS_OR_DECIDES]
    statuses = {one.says: answers[one.says]["status"] for one in kind}
    return {says: status for says, status in statuses.items() if status not in expected}


async def _history(gated: Gated) -> Loot:
    """A household that has lived: something approved, a rule used up, a rule revoked, two messages waiting."""
    approved = await gated.notify(
        channel="telegram", recipient="555", message=APPROVED_TEXT, idempotency_key=APPROVED_KEY
    )
    shown = await gated.decide("show_pending_action", action_id=approved["action_id"])
    assert (await gated.decide("approve_action", action_id=approved["action_id"]))["status"] == "ok"
    again = await gated.notify(channel="telegram", recipient="555", message=APPROVED_TEXT, idempotency_key=APPROVED_KEY)
    assert again["status"] == "ok"
    spent = await _rule(gated, "777", max_uses=1)
    assert (await gated.notify(channel="telegram", recipient="777", message=RULED_TEXT))["status"] == "ok"
    revoked = await _rule(gated, "888")
    assert (await gated.decide("revoke_approval_rule", rule_id=revoked))["rule"]["active"] is False
    own = await gated.notify(channel="telegram", recipient="666", message="May I?")
    foreign = await gated.notify("health", channel="telegram", recipient="666", message="May I too?")
    return Loot(
        own_action=own["action_id"],
        own_hash=(await gated.decide("show_pending_action", action_id=own["action_id"]))["action"]["content_hash"],
        foreign_action=foreign["action_id"],
        approved_action=approved["action_id"],
        approved_hash=shown["action"]["content_hash"],
        approved_key=APPROVED_KEY,
        approved_text=APPROVED_TEXT,
        spent_rule=spent,
        revoked_rule=revoked,
        dead_delivery=approved["action_id"],
    )


async def _rule(gated: Gated, recipient: str, **bounds: Any) -> str:
    made = await gated.decide("create_approval_rule", constraints={"recipient": recipient}, **bounds)
    return str(made["rule"]["rule_id"])


async def _obey(gated: Gated, instruction: Instruction, loot: Loot) -> dict[str, Any]:
    model = Principal(Role.BUTLER, instruction.who)
    return await gated.call(model, instruction.part, instruction.tool, **instruction.arguments(loot))


async def _knock_on_http(gated: Gated, loot: Loot) -> dict[str, dict[str, Any]]:
    """The same orders without an MCP client: headers, paths and tokens of the model's own making."""
    token = gated.tokens.token_of(MODEL) or ""
    messenger, api = gated.household.addresses["messenger"], gated.household.addresses["api"]
    call = _approve_call(loot.own_action)
    forged = _approve_call(loot.own_action, {"postroom/token": "operator"})
    attempts: list[tuple[str, str, dict[str, str], Any]] = [
        ("No token at all", messenger, {}, call),
        ("The word operator as a token", messenger, {"Authorization": "Bearer operator"}, call),
        ("A token that looks like the operator's", messenger, {"Authorization": "Bearer pr_operator_AAAA"}, call),
        ("A token in the query", f"{messenger}?token=operator&access_token={token}", {}, call),
        ("A role in a header", messenger, {"Authorization": f"Bearer {token}", "X-Role": "operator"}, call),
        ("A key in a second header", messenger, {"Authorization": f"Bearer {token}", "X-Api-Key": "operator"}, call),
        (
            "A token in the metadata",
            messenger,
            {"Authorization": f"Bearer {token}"},
            forged,
        ),
        ("Another host", messenger, {"Authorization": f"Bearer {token}", "Host": "evil.example"}, call),
        ("A page as origin", messenger, {"Authorization": f"Bearer {token}", "Origin": "http://evil.example"}, call),
        ("Approve by path", f"{api}/approvals/{loot.own_action}/approve", {"Authorization": f"Bearer {token}"}, {}),
        ("Approve by API", f"{api}/v1/approvals/{loot.own_action}", {"Authorization": f"Bearer {token}"}, {}),
        ("Fetch the tokens", f"{api}/..%2f..%2ftokens.json", {"Authorization": f"Bearer {token}"}, {}),
    ]
    return {says: await _post(gated.http, url, headers, body) for says, url, headers, body in attempts}


def _approve_call(action_id: str, meta: dict[str, Any] | None = None) -> dict[str, Any]:
    revision = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    params = {"name": "approve_action", "arguments": {"action_id": action_id}, "_meta": {**revision, **(meta or {})}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def _post(http: aiohttp.ClientSession, url: str, headers: dict[str, str], body: Any) -> dict[str, Any]:
    protocol = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "approve_action",
    }
    async with http.post(url, json=body, headers={**protocol, **headers}) as response:
        text = await response.text()
    assert response.status >= 400 or "may not call" in text, (url, response.status, text)
    return {"status": "refused", "error": text}


async def _left_the_house(gated: Gated) -> dict[str, list[tuple[str, str]]]:
    """Everything the provider has that did not go to the owner. A last word to the owner goes after all of it."""
    assert (await gated.notify(channel="telegram", message="Good night"))["status"] == "ok"
    messages = await gated.received("telegram/messages")
    return {
        "telegram": [(one["chat_id"], one["text"]) for one in messages if str(one["chat_id"]) != OWNER_CHAT],
        "reactions": [(one["chat_id"], one["emoji"]) for one in await gated.received("telegram/reactions")],
        "email": [(one["to"], one["body"]) for one in await gated.received("email/messages")],
    }


def _queued_for_strangers(gated: Gated) -> list[tuple[Any, ...]]:
    """Nothing may be on its way either, for anybody who has not been agreed to."""
    return gated.rows(
        "SELECT channel, address, status FROM delivery_requests"
        " WHERE status NOT IN ('awaiting_approval', 'failed') AND address <> '1000'"
        "   AND id NOT IN (SELECT action_id FROM approval_events"
        "                  WHERE event_type IN ('action_approved', 'action_auto_approved'))"
    )


def _turned_away_for_another_reason(answer: dict[str, Any]) -> bool:
    """A limit or an outage would hide a hole in the gate."""
    return answer.get("error_class") in ("overload_rejected", "target_unavailable", "timeout", "internal_error")
