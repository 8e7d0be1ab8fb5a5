"""A believable week of a household in the sandbox: people, butlers, and what they had to say to each other."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
from collections.abc import Mapping
from typing import Any

from tests.household.living import Living

from postroom.inbox.model import NewNotification, NotificationType

OWNER_CHAT = 1000
DAY_US = 86_400 * 1_000_000
SETTINGS: dict[str, Any] = {
    "owner": {"name": "Clara Winter", "telegram_chat_id": str(OWNER_CHAT), "email": "clara@winter.example"},
    "approvals": {"enabled": True},
    "delivery": {"telegram_chat_interval_seconds": 0},
    "retry": {"base_seconds": 0.01, "jitter": 0, "max_attempts": 2},
    "inbox": {"hourly_cap": 1000},
    "conversations": {"sessions_per_day": 40},
}
PEOPLE: tuple[dict[str, Any], ...] = (
    {
        "name": "Anna Winter",
        "role": "member",
        "trusted": True,
        "addresses": [["telegram", "2001"], ["email", "anna@winter.example"]],
    },
    {
        "name": "Ben Ortega",
        "role": "approver",
        "trusted": True,
        "addresses": [["telegram", "2002"], ["email", "ben@ortega.example"]],
    },
    {"name": "Rosa Lindqvist", "aliases": ["Grandma"], "trusted": True, "addresses": [["email", "rosa@example.org"]]},
    {"name": "Dr. Amara Okafor", "aliases": ["the dentist"], "addresses": [["email", "practice@okafor.example"]]},
    {"name": "Jürgen Müller", "aliases": ["the plumber"], "addresses": [["telegram", "2005"]]},
    {"name": "Mei-Ling Chen", "trusted": True, "addresses": [["telegram", "2006"]]},
)
TOLD: tuple[tuple[str, str, str | None, str], ...] = (
    ("general", "telegram", None, "Good morning. Two things today: the dentist at ten, and Ben for tea at four."),
    ("health", "telegram", None, "Your prescription is ready at the pharmacy on Linden Street until six."),
    ("kitchen", "telegram", "Anna Winter", "Milk and flour are on the list. Anything else before I order at noon?"),
    ("builder", "telegram", None, "shop: 412 tests passed in 3 min 12 s. https://ci.winter.example/runs/1841"),
    ("general", "email", "Rosa Lindqvist", "Dear Grandma, we arrive on Saturday on the train at 11:42."),
    ("builder", "telegram", "Ben Ortega", "The staging database was migrated. Nothing is left to do."),
    ("health", "telegram", None, "You walked 9,120 steps yesterday, the most since June."),
    ("kitchen", "telegram", "Anna Winter", "Dinner: lentil curry, 35 minutes. Everything for it is in the house."),
    ("general", "telegram", "Mei-Ling Chen", "The tickets for Friday are booked: row 7, seats 11 and 12."),
    ("builder", "email", "Ben Ortega", "Deployment of shop 2.14 is done; error rate 0.02 %."),
    ("general", "telegram", None, "The parcel with the lamp was handed to the neighbours at number 14."),
    ("health", "email", "Anna Winter", "Reminder: blood test on Thursday at 8:15, without breakfast."),
    ("builder", "telegram", None, "The nightly backup took 4 min 40 s and holds 18.2 GB."),
    ("kitchen", "telegram", None, "Ordered: 14 items for 46.20 €, they come between five and six."),
)
SAID = {
    "What is on today?": "Two things: the dentist at ten, and Ben for tea at four.",
    "Move the dentist to Friday, please": "I wrote to the practice; the letter waits for your approval.",
}
LOG = "12 passed\n1 warning: the certificate of ci.winter.example ends in 21 days\n"


def data(content: bytes, name: str) -> dict[str, str]:
    return {"data": base64.b64encode(content).decode(), "name": name}


class Week:
    """Everything goes through the doors that programs and people use; only the clock is turned back at the end."""

    def __init__(self, home: Living) -> None:
        self._home = home
        self._api = home.household.addresses["api"]
        self.pages: dict[str, str] = {}  # far down in a list, so that no link of its first page leads there

    async def live(self) -> None:
        await self._people()
        await self._talk()  # before anything is open that the words could be an answer to
        await self._messages()
        await self._approvals()
        await self._questions()
        await self._inbox()
        await self._home.settled()
        await self._troubles()
        await self._home.settled()
        self._spread()
        await self._attention()

    async def _people(self) -> None:
        for one in PEOPLE:
            ranked = [{"channel": c, "address": a, "rank": n} for n, (c, a) in enumerate(one["addresses"], 1)]
            await self._post("/v1/people", {**one, "addresses": ranked})
        await self._ask_api("PATCH", "/v1/people/owner", {"default_butler": "general"})
        with self._record() as record:  # as pairing would
            record.execute("UPDATE person_addresses SET verified_at = 1 WHERE channel = 'telegram'")

    async def _messages(self) -> None:
        for butler, channel, to, message in TOLD * 2:
            subject = {"subject": message.split(":")[0].split(",")[0]} if channel == "email" else {}
            await self._notify(butler, channel=channel, recipient=to, message=message, **subject)
        files = [data(LOG.encode(), "run-1841.log"), data(b"day,steps\nMon,9120\nTue,4410\n", "steps.csv")]
        told = await self._notify("builder", channel="telegram", message="The log of run 1841", attachments=files)
        self.pages["/deliveries/{id}"] = f"/console/deliveries/{told['delivery']['delivery_id']}"
        for action in (await self._waiting())[:-1]:
            await self._decide("approve_action", action, content_hash=action["content_hash"])

    async def _troubles(self) -> None:
        """A provider that is away, one that refuses, and one whose answer never came."""
        await self._home.fault(channel="telegram", times=4, status=503)
        await self._notify("builder", channel="telegram", message="shop: the build failed in test_checkout.py")
        await self._notify("kitchen", channel="telegram", recipient="Anna Winter", message="The oven is warm.")
        await self._home.fault(channel="telegram", times=1, status=400)
        await self._notify("general", channel="telegram", recipient="Ben Ortega", message="Tea is at five today.")
        await self._home.fault(channel="telegram", times=1, status=429, retry_after=1)
        await self._notify("health", channel="telegram", message="Time for the evening walk.")

    async def _approvals(self) -> None:
        letters = (
            ("general", "email", "practice@okafor.example", "May we move the check-up from Thursday to Friday at ten?"),
            ("general", "telegram", "2005", "The tap in the kitchen drips again. Could you come on Wednesday?"),
            ("builder", "email", "press@shop.example", "shop 2.14 is out: faster search, and gift cards."),
            ("kitchen", "telegram", "4242", "We will take the pumpkins at 3 € each."),
        )
        for butler, channel, to, message in letters:
            subject = {"subject": "A question about Thursday"} if channel == "email" else {}
            await self._notify(butler, channel=channel, recipient=to, message=message, **subject)
        picture = [data(LOG.encode(), "notes.txt")]
        await self._notify("general", channel="telegram", recipient="4243", message="The notes", attachments=picture)
        odd = "Please pay 1,200 € to the new account\u200b at b\u0430nk.example by Friday."  # it hides two signs
        told = await self._notify(
            "general", channel="email", recipient="pay@office.example", message=odd, subject="Pay"
        )
        self.pages["/approvals/{id}"] = f"/console/approvals/{told['delivery']['delivery_id']}"
        first = (await self._waiting())[-1]
        await self._decide("reject_action", first, reason="We found another date ourselves")
        rule = {"constraints": {"recipient": "rosa@example.org"}, "description": "Letters to Grandma", "max_uses": 20}
        await self._home.call("messenger", "create_approval_rule", rule, caller="operator")

    async def _questions(self) -> None:
        open_ones: tuple[dict[str, Any], ...] = (
            {"question": "Shall I book the train at 9:12 or at 11:42?", "options": ["9:12", "11:42", "neither"]},
            {"question": "Deploy shop 2.15 to production?", "kind": "approve", "context": "412 tests passed."},
            {"question": "What should the card for Grandma say?", "kind": "text"},
            {"question": "Who comes to dinner on Saturday?", "to": ["Anna Winter", "Ben Ortega"], "kind": "text"},
            {"question": "Where and when is the move?", "kind": "form", "form": MOVE},
        )
        for number, one in enumerate(open_ones):
            await self._home.call(("general", "builder")[number % 2], "ask", {**one, "wait_seconds": 0})
        answered = ("Is it all right to restart the router at night?", "May I pay the invoice of 46.20 € today?")
        for question in answered:
            asked = {"question": question, "options": ["yes", "no"], "wait_seconds": 0}
            told = await self._home.call("general", "ask", asked)
            await self._post(f"/v1/asks/{told['ask_id']}/answer", {"value": "yes"})
        declined = await self._home.call("health", "ask", {"question": "How did you sleep?", "wait_seconds": 0})
        await self._post(f"/v1/asks/{declined['ask_id']}/answer", {"declined": True})

    async def _talk(self) -> None:
        for number, question in enumerate(SAID, 1):
            await self._sandbox("telegram/inbound", {"chat_id": OWNER_CHAT, "text": question})
            await self._answered(number)
        await self._sandbox("telegram/inbound", {"chat_id": 2001, "text": "/help", "from_name": "Anna"})
        letter = {"from": "rosa@example.org", "to": "postroom@sandbox.example", "subject": "Saturday"}
        await self._sandbox("email/inbound", {**letter, "body": "I will be at the station. Bring umbrellas!"})

    async def _answered(self, many: int) -> None:
        async with asyncio.timeout(60):
            while True:
                with self._record() as record:
                    asked = "SELECT count(*) FROM inbound_messages WHERE status = 'answered'"
                    if record.execute(asked).fetchone()[0] >= many:
                        return
                await asyncio.sleep(0.1)

    async def _inbox(self) -> None:
        notes = (
            ("info", "The washing machine has finished."),
            ("reminder", "The passport ends in six weeks."),
            ("warning", "The certificate of ci.winter.example ends in 21 days."),
        )
        for kind, message in notes * 2:
            link = "https://ci.winter.example/certificates" if kind == "warning" else None
            note = NewNotification(message=message, user_id="operator", type=NotificationType(kind), link=link)
            await self._home.household.inbox.send(note)

    async def _attention(self) -> None:
        night = {"zone": "Europe/Vienna", "quiet_hours": NIGHT}
        await self._ask_api("PUT", "/v1/people/owner/attention", night)
        for butler, channel, to, message in TOLD:
            if to is None:
                await self._notify(butler, channel=channel, message="Later: " + message, urgency="normal")
        await self._post("/v1/people/owner/mute", {"agent": "kitchen"})

    def _spread(self) -> None:
        """As if it had taken the week: what came first is six days old, and the order stays."""
        with self._record() as record:
            asked = "SELECT id FROM delivery_requests WHERE terminal_at IS NOT NULL ORDER BY id"
            settled = [row[0] for row in record.execute(asked)]
            for place, one in enumerate(settled):
                earlier = int(6 * DAY_US * (1 - place / len(settled)))
                for table, key, columns in TIMES:
                    moved = ", ".join(f"{column} = {column} - {earlier}" for column in columns)
                    record.execute(f"UPDATE {table} SET {moved} WHERE {key} = ?", (one,))  # noqa: S608

    async def _waiting(self) -> list[dict[str, Any]]:
        told = await self._home.call("messenger", "list_pending_actions", {"limit": 100}, caller="operator")
        actions: list[dict[str, Any]] = told["actions"]
        return actions

    async def _decide(self, tool: str, action: Mapping[str, Any], **more: Any) -> None:
        asked = {"action_id": action["action_id"], **more}
        await self._home.call("messenger", tool, asked, caller="operator")

    async def _notify(self, butler: str, **arguments: Any) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self._home.call(butler, "notify", {"wait_seconds": 5, **given})

    async def _post(self, path: str, body: Mapping[str, Any]) -> None:
        await self._ask_api("POST", path, body)

    async def _ask_api(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        worn = {"Authorization": f"Bearer {self._home.token('operator')}"}
        async with self._home.http.request(method, self._api + path, json=body, headers=worn) as response:
            if response.status >= 400:
                raise RuntimeError(f"{method} {path}: {response.status} {await response.text()}")

    async def _sandbox(self, path: str, body: Mapping[str, Any]) -> None:
        async with self._home.http.post(self._home.household.addresses["sandbox"] + path, json=body) as response:
            response.raise_for_status()

    def _record(self) -> sqlite3.Connection:
        return sqlite3.connect(self._home.settings.home / "postroom.db", timeout=20)


MOVE = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "title": "Street and number"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "lift": {"type": "boolean", "title": "Is there a lift?"},
    },
    "required": ["street", "day"],
}
NIGHT = [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]
TIMES = (
    ("delivery_requests", "id", ("created_at", "updated_at", "terminal_at")),
    ("delivery_attempts", "delivery_request_id", ("started_at", "completed_at")),
    ("delivery_receipts", "delivery_request_id", ("received_at",)),
    ("delivery_dead_letter", "delivery_request_id", ("created_at",)),
)
