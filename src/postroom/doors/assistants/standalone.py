"""An adapter by itself: everything it needs from the settings of this process."""

from __future__ import annotations

from fastapi import FastAPI

from postroom.domain.ids import IdMint
from postroom.domain.web_address import web_address
from postroom.doors.assistants.adapter_app import AdapterParts, HouseholdAt, adapter_app
from postroom.doors.assistants.household_client import HouseholdClient
from postroom.doors.assistants.profile import Face
from postroom.doors.guard.tokens import TokenFile
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process
from postroom.work.intents.agency import Agency


def standalone(face: Face) -> FastAPI:
    """For uvicorn: the household is looked for where the settings say."""
    settings, _ = from_process()
    api_url = settings.connector(face.name).household_url or web_address(settings.host, settings.ports.api)
    household_at = HouseholdClient(api_url)
    return adapter_app(face, adapter_parts(face, settings, household_at, own_url=own_url(face, settings)))


def own_url(face: Face, settings: Settings) -> str:
    """Where an adapter listens when nobody says where else it is reached."""
    return web_address(settings.host, getattr(settings.ports, face.name))


def adapter_parts(
    face: Face, settings: Settings, household_at: HouseholdAt, *, own_url: str, public_url: str = ""
) -> AdapterParts:
    tokens = TokenFile(settings.tokens_file)
    return AdapterParts(
        verifier=tokens,
        agency=agency_of(settings, tokens),
        household_at=household_at,
        clock=SystemClock(),
        mint=IdMint().mint,
        public_url=public_url or settings.connector(face.name).public_url or own_url,
        household=settings.household_id,
        hosts=settings.served_hosts,
        origins=settings.allowed_origins,
    )


def agency_of(settings: Settings, tokens: TokenFile) -> Agency:
    """What a token was made for wins over what the settings say of its connector."""
    return Agency(lambda name: tokens.agents_of(name) or settings.connector(name).agents)
