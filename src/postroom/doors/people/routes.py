"""The registry's HTTP routes: find, confirm, keep and forget people."""

from __future__ import annotations

from fastapi import APIRouter

from postroom.doors.people.contact_routes import contact_router
from postroom.doors.people.parts import RegistryParts
from postroom.doors.people.resolution_routes import resolution_router


def registry_router(parts: RegistryParts) -> APIRouter:
    """Resolution first: the path of one contact would swallow `/contacts/memory`."""
    router = resolution_router(parts)
    router.routes.extend(contact_router(parts).routes)
    return router
