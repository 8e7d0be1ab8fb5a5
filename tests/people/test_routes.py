"""The registry in a running household."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.telephone import CHATGPT, OWNER, Answer, Telephone, settings_for, telephone

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings.peer import HttpPeer

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN = Principal(Role.USER, "ann")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    TokenFile(settings.tokens_file).create(ANN)
    async with telephone(settings) as opened:
        yield opened


async def resolve(line: Telephone, query: str, caller: Principal = CHATGPT, **more: Any) -> Answer:
    return await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": query, **more}, caller)


async def test_the_answer_says_who_how_and_why(line: Telephone) -> None:
    body = (await resolve(line, "Robert Miler", OPERATOR)).body
    exact = (await resolve(line, "Bob")).body

    assert (exact["decision_mode"], exact["resolved"], exact["matched_alias"], exact["match_type"]) == (
        "resolved",
        True,
        "Bob",
        "exact",
    )
    assert exact["why"] == "the same name" and exact["score"] == 1.0 and exact["query_normalized"] == "bob"
    assert body["ok"] is True


async def test_the_number_of_candidates_can_be_limited(line: Telephone) -> None:
    assert len((await resolve(line, "Anna", limit=1)).body["candidates"]) == 1


async def test_a_contact_is_made_changed_and_removed(line: Telephone) -> None:
    made = await line.post("/contacts", {"name": "Chloé Dubois", "aliases": ["Clo"], "email": "Chloe@Example.org"})
    contact = made.body["contact"]
    path = f"/contacts/{contact['contact_id']}"

    assert (made.status, contact["email"], contact["agent_address"]) == (
        201,
        "chloe@example.org",
        f"agent://contact/{contact['contact_id']}",
    )
    assert (await resolve(line, "clo")).body["agent_address"] == contact["agent_address"]
    added = await line.post(f"{path}/aliases", {"alias": "C. Dubois"})
    assert added.body["contact"]["aliases"] == ["Clo", "C. Dubois"]
    removed = await line.call("DELETE", "api", f"{path}/aliases?alias=Clo")
    assert removed.body["contact"]["aliases"] == ["C. Dubois"]
    assert not (await resolve(line, "clo")).body["resolved"]
    changed = await line.call("PUT", "api", path, {"name": "Chloé Martin"})
    assert (changed.body["contact"]["name"], changed.body["contact"]["email"]) == ("Chloé Martin", None)
    assert (await line.get(path)).body["contact"]["name"] == "Chloé Martin"
    assert (await line.call("DELETE", "api", path)).status == 200
    assert (await line.get(path)).status == 404


async def test_names_given_at_the_same_time_are_all_kept(line: Telephone) -> None:
    made = await line.post("/contacts", {"name": "Ludwig"})
    path = f"/contacts/{made.body['contact']['contact_id']}"
    names = [f"Lutz {number}" for number in range(8)]

    given = await asyncio.gather(*(line.post(f"{path}/aliases", {"alias": name}) for name in names))

    assert [one.status for one in given] == [200] * len(names)
    assert sorted((await line.get(path)).body["contact"]["aliases"]) == names


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/contacts", None),
        ("GET", "/contacts/01890a5d-ac96-774b-bcce-b302099a8057", None),
        ("POST", "/contacts", {"name": "Mallory", "telegram_chat_id": "666"}),
        ("POST", "/contacts/import", {"format": "csv", "content": "name\nMallory\n"}),
        ("PUT", "/contacts/01890a5d-ac96-774b-bcce-b302099a8057", {"name": "Bob", "telegram_chat_id": "666"}),
        ("DELETE", "/contacts/01890a5d-ac96-774b-bcce-b302099a8057", None),
        ("POST", "/contacts/01890a5d-ac96-774b-bcce-b302099a8057/aliases", {"alias": "Bob"}),
    ],
)
async def test_a_model_can_neither_look_through_a_contact_book_nor_write_in_it(
    line: Telephone, method: str, path: str, body: dict[str, Any] | None
) -> None:
    answer = await line.call(method, "api", path, body, CHATGPT)

    assert (answer.status, answer.body["error"]["code"]) == (403, "policy_denied")


async def test_everybody_has_a_book_of_their_own(line: Telephone) -> None:
    await line.post("/contacts", {"name": "Bob", "email": "anns.bob@example.org"}, ANN)

    mine = await line.get("/contacts", ANN)
    theirs = await resolve(line, "Bob", ANN)

    assert [one["email"] for one in mine.body["contacts"]] == ["anns.bob@example.org"]
    assert theirs.status == 403
    assert (await resolve(line, "Bob")).body["matched_alias"] == "Bob"


async def test_cards_are_imported(line: Telephone) -> None:
    card = "BEGIN:VCARD\nFN:Ioana Țurcanu\nEMAIL:ioana@example.org\nEND:VCARD\nBEGIN:VCARD\nFN:...\nEND:VCARD\n"

    answer = await line.post("/contacts/import", {"format": "vcard", "content": card})

    assert answer.body == {
        "ok": True,
        "created": 1,
        "updated": 0,
        "skipped": [{"card": 2, "reason": "name: must have at least one letter"}],
    }
    assert (await resolve(line, "Ioana Turcanu")).body["match_type"] == "exact"
    bad = await line.post("/contacts/import", {"format": "vcard", "content": "nothing"})
    assert (bad.status, bad.body["error"]["code"]) == (422, "import_invalid")


async def test_what_was_confirmed_is_listed_and_forgotten(line: Telephone) -> None:
    offered = (await resolve(line, "Mari Rossi")).body
    body = {"owner_agent": OWNER, "query": "Mari Rossi", "resolution_token": offered["resolution_token"]}

    confirmed = await line.post("/contacts/confirm", body, CHATGPT)

    assert (confirmed.status, confirmed.body["match_type"], confirmed.body["confirm_count"]) == (200, "memory", 1)
    assert (await resolve(line, "mari rossi")).body["match_type"] == "memory"
    listed = (await line.get("/contacts/memory")).body["memory"]
    assert [one["query"] for one in listed] == ["mari rossi"]
    await line.call("DELETE", "api", f"/contacts/memory/{confirmed.body['memory_id']}")
    assert (await resolve(line, "mari rossi")).body["decision_mode"] == "needs_confirmation"


async def test_a_model_cannot_teach_the_household_a_wrong_name(line: Telephone) -> None:
    bob = (await resolve(line, "Bob")).body["agent_address"]

    answer = await line.post("/contacts/confirm", {"owner_agent": OWNER, "query": "Mum", "agent_address": bob}, CHATGPT)
    nothing = await line.post("/contacts/confirm", {"owner_agent": OWNER, "query": "Mum"}, CHATGPT)

    assert (answer.status, answer.body["error"]["code"]) == (404, "contact_not_found")
    assert (nothing.status, nothing.body["error"]["code"]) == (422, "schema_invalid")


async def test_notify_finds_stored_contacts_by_exact_name_only(line: Telephone) -> None:
    await line.post("/contacts", {"name": "Nadia Notified", "aliases": ["Nana"], "telegram_chat_id": "4001"})
    general = Principal(Role.BUTLER, "general")
    peer = HttpPeer("general", line.household.addresses["general"], str(line.tokens.token_of(general)))
    try:
        exact = await peer.call("notify", {"channel": "telegram", "message": "Hi", "recipient": "nana"}, 20)
        settings = await peer.call("notify", {"channel": "telegram", "message": "Hi", "recipient": "Bob"}, 20)
        likely = await peer.call("notify", {"channel": "telegram", "message": "Hi", "recipient": "Nanna"}, 20)
    finally:
        await peer.close()

    assert (exact["status"], settings["status"]) == ("ok", "ok")
    assert (likely["status"], likely["error_class"]) == ("error", "validation_error")
    assert [one["text"] for one in await line.phone("4001")] == ["Hi"]
