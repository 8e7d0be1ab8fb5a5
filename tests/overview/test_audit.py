"""Every call of the API and every form of the console that may change something is written down, or says why not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.console.comers import let_in, person
from tests.console.http import Caller
from tests.console.routes import routes
from tests.household.living import Living, living

from postroom.kernel.audit import Noted
from postroom.kernel.values.principal import Principal, Role
from postroom.overview.audit import ACTS, BEFORE_SIGN_IN, CALLS

pytestmark = pytest.mark.asyncio(loop_scope="module")
_CHANGING = ("post", "put", "patch", "delete")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), {"approvals": {"enabled": True}}) as one:
        yield one


async def api(home: Living, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token or home.token('operator')}"}
    url = home.household.addresses["api"] + path
    async with home.http.request(method, url, json=body, headers=headers) as answer:
        return answer.status, await answer.json()


async def entries(home: Living, **query: str) -> list[dict[str, Any]]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    status, page = await api(home, "GET", f"/v1/audit?{asked}")
    assert status == 200, page
    found: list[dict[str, Any]] = page["entries"]
    return found


@pytest.mark.requirement("side:audit-complete")
async def test_every_call_of_the_api_is_decided_upon(home: Living) -> None:
    _, document = await api(home, "GET", "/openapi.json")
    found = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if method in _CHANGING
    }

    assert found == set(CALLS)


@pytest.mark.requirement("side:audit-complete")
async def test_every_form_of_the_console_is_decided_upon(home: Living) -> None:
    found = set(await routes(home, "POST"))

    assert found == set(ACTS) | set(BEFORE_SIGN_IN)
    assert all(reason for reason in [*ACTS.values(), *BEFORE_SIGN_IN.values()])


@pytest.mark.requirement("side:audit")
async def test_an_act_over_the_api_is_written_once_and_a_refused_one_is_not(home: Living) -> None:
    _, made = await api(home, "POST", "/v1/people", {"name": "Zoe", "role": "member"})
    person_id = made["person"]["person_id"]
    assert (await api(home, "PATCH", f"/v1/people/{person_id}", {"zone": "Europe/Berlin"}))[0] == 200
    assert (await api(home, "PATCH", f"/v1/people/{person_id}", {"zone": "Nowhere"}))[0] in (400, 422)

    found = [one for one in await entries(home, kind="people") if one["subject"] == f"person:{person_id}"]

    assert [(one["actor"], one["act"], one["door"]) for one in found] == [
        ("operator", "changed a person", "api"),
        ("operator", "added a person", "api"),
    ]


async def test_who_was_added_as_a_contact_is_named(home: Living) -> None:
    _, made = await api(home, "POST", "/contacts", {"name": "Yann"})
    newest = (await entries(home, kind="people"))[0]
    assert (newest["act"], newest["subject"]) == ("added a person", f"person:{made['contact']['contact_id']}")


@pytest.mark.requirement("side:audit")
async def test_what_is_done_in_the_console_is_written_with_who_did_it(home: Living, caller: Caller) -> None:
    one = await person(home, "Yara")
    cookies = await let_in(home, caller, one)
    token = await caller.form_token(cookies)
    saved = await caller.post("/console/people", {"form_token": token, "name": "A friend"}, cookies)
    assert saved.status == 303, saved.text
    refused = await caller.post("/console/people", {"form_token": token, "name": ""}, cookies)
    assert refused.status == 422
    await caller.post("/console/logout", {"form_token": token}, cookies)

    found = await entries(home, person=one.id)

    assert [(entry["act"], entry["detail"]) for entry in found] == [
        ("signed out", ""),
        ("added a person", "A friend"),
        ("signed in by an invitation", "an unknown device"),
    ]
    assert {entry["actor"] for entry in found} == {f"person:{one.id}"}


@pytest.mark.requirement("side:audit")
async def test_an_answer_is_written_once_with_itself_and_without_its_words(home: Living, caller: Caller) -> None:
    one = await person(home, "Xenia")
    token = home.tokens.create(Principal(Role.PERSON, one.id))
    status, asked = await api(home, "POST", "/v1/asks", {"question": "Ship it?", "kind": "approve", "to": one.id})
    assert status in (200, 201), asked
    status, said = await api(home, "POST", f"/v1/asks/{asked['ask_id']}/answer", {"value": "approve"}, token)
    assert status == 200, said
    await api(home, "POST", f"/v1/asks/{asked['ask_id']}/answer", {"value": "deny"}, token)

    found = await entries(home, person=one.id, kind="decision")

    assert [(entry["act"], entry["subject"], entry["detail"], entry["door"]) for entry in found] == [
        ("answered a question", f"question:{asked['ask_id']}", "", "api")
    ]


@pytest.mark.requirement("side:audit")
async def test_decisions_rules_and_corrections_are_written_with_themselves(home: Living) -> None:
    parked = (await home.notify(recipient="4242", message="Out"))["delivery"]["delivery_id"]
    status, told = await api(home, "POST", f"/v1/approvals/{parked}/reject", {"reason": "not today"})
    assert status == 200, told
    rule = {"constraints": {"recipient": {"type": "exact", "value": "4243"}}, "description": "One friend"}
    made = await home.call("messenger", "create_approval_rule", rule, caller="operator")
    await home.call("messenger", "revoke_approval_rule", {"rule_id": made["rule"]["rule_id"]}, caller="operator")
    sent = (await home.notify(message="First words"))["delivery"]["delivery_id"]
    for act, body in (("revise", {"message": "Other words"}), ("recall", {})):
        status, told = await api(home, "POST", f"/v1/deliveries/{sent}/{act}", body)
        assert status == 200, told

    found = [
        one
        for one in await entries(home)
        if one["subject"].partition(":")[2] in (parked, sent, made["rule"]["rule_id"])
    ]

    assert [(one["act"], one["subject"], one["detail"]) for one in reversed(found)] == [
        ("rejected a message", f"approval:{parked}", ""),
        ("made a standing rule", f"rule:{made['rule']['rule_id']}", ""),
        ("revoked a standing rule", f"rule:{made['rule']['rule_id']}", ""),
        ("changed the text of a message", f"delivery:{sent}", "edit"),
        ("took a message back", f"delivery:{sent}", "delete"),
    ]
    assert {one["actor"] for one in found} == {"operator"}


async def test_pages_follow_each_other_and_a_wrong_cursor_is_refused(home: Living, caller: Caller) -> None:
    for name in ("P1", "P2", "P3"):
        await api(home, "POST", "/v1/people", {"name": name})
    everything = await entries(home, limit="200")
    read: list[str] = []
    cursor = ""
    for _ in range(len(everything)):
        _, page = await api(home, "GET", f"/v1/audit?limit=2{cursor and f'&cursor={cursor}'}")
        read += [one["id"] for one in page["entries"]]
        if not (cursor := page["next_cursor"] or ""):
            break

    assert read == [one["id"] for one in everything] and len(set(read)) == len(read)
    for wrong in ("x", "1-", "99999999999999999999-a"):
        status, refused = await api(home, "GET", f"/v1/audit?cursor={wrong}")
        assert status in (400, 422) and "cursor" in str(refused)


async def test_only_the_operators_token_reads_it(home: Living) -> None:
    token = home.tokens.create(Principal(Role.PERSON, "owner"))

    for one in (token, home.token("health")):
        assert (await api(home, "GET", "/v1/audit", token=one))[0] == 403


async def test_the_page_shows_names_and_filters(home: Living, caller: Caller) -> None:
    one = await person(home, "Wim <script>")
    await let_in(home, caller, one)
    assert home.household.sign_in is not None
    cookies = await caller.sign_in(await home.household.sign_in())

    page = (await caller.get(f"/console/audit?who={one.id}&kind=sign-in", cookies)).text

    assert "Wim &lt;script&gt;" in page and "signed in by an invitation" in page and "made a token" not in page
    assert (await caller.get("/console/audit?cursor=nonsense&kind=nonsense", cookies)).status == 200


async def test_what_is_noted_names_something(home: Living) -> None:
    assert all(one.act and one.kind for one in [*CALLS.values(), *ACTS.values()] if isinstance(one, Noted))
