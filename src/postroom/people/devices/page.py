"""The devices that notify a person, and what makes the console an app on a phone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, assert_never

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from postroom.console.lists import Found, ListPage, ListQuery
from postroom.console.visit import ConsolePage, ConsoleSection, Templates, Tone, Visit
from postroom.kernel.values.errors import Refused
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.message.outgoing import AnswerStatus, Outcome
from postroom.people.devices.push import Devices
from postroom.people.model import PushDevice, PushSubscription
from postroom.people.signing_in.rules import ROOT

PATH: Final = "/devices"
_NOT_SET: Final = "No account notifies devices yet, so nothing was changed."
_GONE: Final = "That device was removed already."


def has_devices(who: Principal) -> bool:
    return person_id_of(who) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePages:
    devices: Devices | None
    """None: the settings name no account for it."""

    def listed(self) -> ListPage[PushDevice]:
        return ListPage(title="Devices", parts="devices.html", look="devices", find=self._find)

    async def _find(self, visit: Visit, _: ListQuery) -> Found[PushDevice]:
        mine = await self.devices.listed(_person(visit)) if self.devices else ()
        around = {"key": self.devices.key if self.devices else "", "is_on": self.devices is not None}
        return Found(rows=mine, around=around)

    async def message(self, visit: Visit) -> Response:
        """Where a press on a notification leads, when there is nothing to decide."""
        found = await self.devices.record.message(_person(visit), visit.path["id"]) if self.devices else None
        if found is None:
            raise HTTPException(404)
        return visit.show("device_message.html", message=found)

    async def add(self, visit: Visit) -> Response:
        if self.devices is None:
            return visit.go(PATH, _NOT_SET, "bad")
        given = {name: visit.form.get(name) for name in ("endpoint", "p256dh", "auth")}
        try:
            made = await self.devices.add(_person(visit), visit.form.get("name"), PushSubscription(**given))
        except Refused as error:
            told = error.fields[0].error if error.fields else error.message
            return visit.go(PATH, f"Nothing was switched on: {told}.", "bad")
        return visit.go(PATH, f"{made.name} is notified from now on.")

    async def remove(self, visit: Visit) -> Response:
        if self.devices is None:
            return visit.go(PATH, _NOT_SET, "bad")
        gone = await self.devices.record.remove(_person(visit), visit.path["id"])
        return visit.go(PATH, f"{gone.name} is notified no more.") if gone else visit.go(PATH, _GONE, "bad")

    async def test(self, visit: Visit) -> Response:
        if self.devices is None:
            return visit.go(PATH, _NOT_SET, "bad")
        outcome = await self.devices.test(_person(visit), visit.path["id"])
        return visit.go(PATH, *_told(outcome)) if outcome else visit.go(PATH, _GONE, "bad")


def devices_section(pages: DevicePages) -> ConsoleSection:
    return ConsoleSection(
        name="Devices",
        pages=(
            ConsolePage(PATH, pages.listed().show, open_to=has_devices),
            ConsolePage(PATH, pages.add, "POST", open_to=has_devices),
            ConsolePage(f"{PATH}/messages/{{id}}", pages.message, open_to=has_devices),
            ConsolePage(f"{PATH}/{{id}}/remove", pages.remove, "POST", open_to=has_devices),
            ConsolePage(f"{PATH}/{{id}}/test", pages.test, "POST", open_to=has_devices),
        ),
    )


def _person(visit: Visit) -> str:
    person_id = person_id_of(visit.principal)
    if person_id is None:
        raise HTTPException(404)
    return person_id


def _told(outcome: Outcome) -> tuple[str, Tone]:
    """What became of a trial, by what is known now."""
    match outcome.status:
        case AnswerStatus.OK:
            return "The push service took the trial. If nothing rings, look at the device's own settings.", "good"
        case AnswerStatus.ACCEPTED | AnswerStatus.DEFERRED | AnswerStatus.MUTED:
            return "The trial is stored and still on its way.", "good"
        case AnswerStatus.PENDING_APPROVAL:
            return "The trial waits for approval, like every message to this person.", "good"
        case AnswerStatus.ERROR:
            return f"The trial failed: {outcome.error.message if outcome.error else 'no reason was given'}.", "bad"
        case _:
            assert_never(outcome.status)


# The app: its manifest, its worker, and the page that is left when offline.

ACCENT: Final = "#1f6f5c"
_STATIC: Final = files("postroom.console") / "static"
_VERSION: Final = "{{version}}"
MANIFEST: Final[dict[str, Any]] = {
    "id": f"{ROOT}/",
    "name": "Postroom",
    "short_name": "Postroom",
    "description": "What waits for you in your household: questions, approvals and messages.",
    "lang": "en",
    "start_url": f"{ROOT}/",
    "scope": f"{ROOT}/",
    "display": "standalone",
    "theme_color": ACCENT,
    "background_color": "#f6f5f1",
    "icons": [
        {"src": f"{ROOT}/static/icon-192.png", "sizes": "192x192", "type": "image/png"},
        {"src": f"{ROOT}/static/icon-512.png", "sizes": "512x512", "type": "image/png"},
        {"src": f"{ROOT}/static/icon-maskable-512.png", "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
    ],
    "shortcuts": [{"name": "Questions", "url": f"{ROOT}/questions"}, {"name": "Approvals", "url": f"{ROOT}/approvals"}],
}


def app_routes(templates: Templates) -> Sequence[Route]:
    """Open to all: none of them knows anything of the household."""

    async def manifest(_request: Request) -> Response:
        return JSONResponse(MANIFEST, media_type="application/manifest+json")

    async def worker(_request: Request) -> Response:
        return Response(service_worker(), media_type="text/javascript")

    async def offline(_request: Request) -> Response:
        return HTMLResponse(templates.render("offline.html", theme="auto"))

    return [
        Route("/manifest.webmanifest", manifest),
        Route("/service-worker.js", worker),
        Route("/offline", offline),
    ]


@cache
def service_worker() -> str:
    """Another one as soon as any file of the console changes, so that an installed app brings itself up to date."""
    return (_STATIC / "service-worker.js").read_text(encoding="utf-8").replace(_VERSION, _version())


def _version() -> str:
    shell = files("postroom.console") / "templates" / "offline.html"
    kept = [one for one in sorted(_STATIC.iterdir(), key=lambda one: one.name) if one.is_file()]
    digest = hashlib.sha256()
    for one in (*kept, shell):
        digest.update(one.name.encode() + b"\0" + one.read_bytes())
    return digest.hexdigest()[:16]
