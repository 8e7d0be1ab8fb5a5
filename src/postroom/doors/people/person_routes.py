"""The household's people over HTTP: for the owner all of them, for another person their own record."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query

from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.person import PersonRole
from postroom.domain.person_history import HistoryQuery
from postroom.domain.principal import Principal, Role
from postroom.doors.guard.depends import Caller, ReservedId, allowing
from postroom.doors.guard.json_body import Done, Text
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.people.parts import REFUSALS, Limit
from postroom.doors.people.person_models import (
    HistoryPage,
    PeoplePage,
    PersonAnswer,
    PersonBody,
    PersonChange,
    PersonRequest,
    RoleName,
)
from postroom.work.people.people import People

PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Cursor = Annotated[Text | None, Query(max_length=128, description="`next_cursor` of the page before.")]
Begins = Annotated[str | None, Query(max_length=255, description="A name or an alias, or how it begins.")]
OnlyOf = Annotated[Text | None, Query(max_length=64, description="Only what this butler said, asked or was given.")]
OnlyOn = Annotated[Text | None, Query(max_length=64, description="Only what was said on this channel.")]
OWN_FIELDS: Final = frozenset({"zone", "language", "default_butler"})  # what persons may change of themselves


def _is_owner(caller: Principal) -> bool:
    return caller.is_owner


ByOwner = [Depends(allowing(_is_owner))]  # a model never lists people


def people_router(people: People) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)
    _add_listing(router, people)
    _add_writing(router, people)
    _add_own(router, people)
    return router


def _add_listing(router: APIRouter, people: People) -> None:
    @router.get("/v1/people", operation_id="listPeople", summary="Everybody the household knows", dependencies=ByOwner)
    async def listed(
        q: Begins = None, role: RoleName | None = None, cursor: Cursor = None, limit: Limit = 50
    ) -> PeoplePage:
        wanted = PersonRole(role) if role else None
        found = await people.search.listed(people.book, begins=q, role=wanted, after=cursor, limit=limit + 1)
        shown = [PersonBody.of(one) for one in found[:limit]]
        return PeoplePage(ok=True, people=shown, next_cursor=shown[-1].person_id if len(found) > limit else None)

    @router.get(
        "/v1/people/{person_id}/history",
        operation_id="listSentToPerson",
        summary="Everything said with a person, both ways, newest first; a person may read their own",
    )
    async def history(
        person_id: PersonId,
        caller: Caller,
        cursor: Cursor = None,
        limit: Limit = 50,
        butler: OnlyOf = None,
        channel: OnlyOn = None,
    ) -> HistoryPage:
        check_own(caller, person_id)
        wanted = HistoryQuery(limit=limit, before=cursor, butler=butler or None, channel=channel or None)
        return HistoryPage.of(await people.history.of(await people.get(person_id), wanted))


def _add_writing(router: APIRouter, people: People) -> None:
    @router.post(
        "/v1/people",
        operation_id="createPerson",
        summary="Write a person down",
        status_code=201,
        dependencies=ByOwner,
    )
    async def create(body: PersonRequest, reserved_id: ReservedId) -> PersonAnswer:
        made = await people.create(body.draft(), source="api", reserved_id=reserved_id)
        return PersonAnswer(ok=True, person=PersonBody.of(made))

    @router.delete(
        "/v1/people/{person_id}",
        operation_id="deletePerson",
        summary="Remove a person, and what was remembered of them",
        dependencies=ByOwner,
    )
    async def delete(person_id: PersonId) -> Done:
        await people.delete(person_id)
        return Done(ok=True)


def _add_own(router: APIRouter, people: People) -> None:
    @router.get("/v1/people/{person_id}", operation_id="getPerson", summary="One person; a person may read themselves")
    async def get(person_id: PersonId, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.get(person_id)))

    @router.patch(
        "/v1/people/{person_id}",
        operation_id="changePerson",
        summary="Change what is given; a person may change their own zone and language",
    )
    async def change(person_id: PersonId, body: PersonChange, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        given = body.given()
        if not caller.is_owner and (others := sorted(given.keys() - OWN_FIELDS)):
            fields = [FieldError(name, "is for the owner to change", "policy_denied") for name in others]
            raise Refused.of(Code.POLICY_DENIED, fields)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.change(person_id, **given)))


def check_own(caller: Principal, person_id: str) -> None:
    if not caller.is_owner and not (caller.role is Role.PERSON and caller.name == person_id):
        raise Refused(Code.POLICY_DENIED, f"{caller} may not do this")
