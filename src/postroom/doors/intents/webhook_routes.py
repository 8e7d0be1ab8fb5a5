"""Subscriptions to the news of an inbox over HTTP."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter

from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.principal import Principal
from postroom.domain.webhook import Subscription, WebhookEvent
from postroom.doors.guard.depends import Caller, ReservedId
from postroom.doors.guard.json_body import Done
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.intents.arguments import Id, OwnAgent
from postroom.doors.intents.models import SubscriptionAnswer, SubscriptionBody, SubscriptionRequest, SubscriptionsAnswer
from postroom.doors.intents.parts import GatewayParts

_REFUSALS = failures(400, 401, 403, 404, 409, 413, 422, 503)


def webhook_router(parts: GatewayParts) -> APIRouter:
    router = APIRouter(
        route_class=JsonRoute, tags=["webhooks"], prefix="/v1/webhooks/subscriptions", responses=_REFUSALS
    )

    @router.post(
        "",
        operation_id="saveSubscription",
        summary="Be told of news at a URL; saving the same URL again changes it",
    )
    async def save(
        body: SubscriptionRequest, caller: Caller, reserved_id: ReservedId, owner: OwnAgent = None
    ) -> SubscriptionAnswer:
        agent, now = _person(parts, caller, owner), parts.clock.now_us()
        _check_url(body.callback_url)
        saved = await parts.subscriptions.save(
            Subscription(
                id=reserved_id or parts.mint(now),
                owner_agent=agent,
                callback_url=body.callback_url,
                event_types=tuple(WebhookEvent(one) for one in dict.fromkeys(body.event_types)),
                secret=body.secret,
                active=body.active,
                description=body.description,
                created_at_us=now,
                updated_at_us=now,
            )
        )
        return SubscriptionAnswer(ok=True, subscription=SubscriptionBody.of(saved))

    @router.get(
        "",
        operation_id="listSubscriptions",
        summary="Who is told",
    )
    async def listed(caller: Caller, owner: OwnAgent = None) -> SubscriptionsAnswer:
        found = await parts.subscriptions.listed(_person(parts, caller, owner))
        return SubscriptionsAnswer(ok=True, subscriptions=[SubscriptionBody.of(one) for one in found])

    @router.delete(
        "/{subscription_id}",
        operation_id="deleteSubscription",
        summary="Be told no more",
    )
    async def delete(subscription_id: Id, caller: Caller, owner: OwnAgent = None) -> Done:
        if not await parts.subscriptions.delete(_person(parts, caller, owner), subscription_id):
            raise Refused(Code.NOT_FOUND, "there is no such subscription")
        return Done(ok=True)

    return router


def _person(parts: GatewayParts, caller: Principal, owner: str | None) -> str:
    """A model that could subscribe could have the household's news sent anywhere."""
    agent = parts.acting(caller, owner).agent
    if not caller.is_person:
        raise Refused(Code.POLICY_DENIED, "only a person can subscribe to news")
    return agent


def _check_url(url: str) -> None:
    try:
        split = urlsplit(url)
        valid = bool(split.hostname) and split.username is None and split.port != 0
    except ValueError:
        valid = False
    if not valid:
        error = "must be a plain http or https URL"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("callback_url", error, "url")])
