"""Tools that tell whether the delivery plane is well, and what it would do, without touching it."""

from __future__ import annotations

from inspect import getdoc
from typing import Any, cast

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.error_shapes import error_sentence
from postroom.doors.guard.answered import answered
from postroom.doors.messenger.answers import (
    CircuitStatus,
    DeliveryStats,
    DryRunAnswer,
    QueueDepth,
    RateLimitStatus,
    Validation,
)
from postroom.doors.messenger.arguments import ChannelName, Envelope, GroupName, Moment, ScopeName
from postroom.work.delivery.dry_run import DryRun, validate
from postroom.work.delivery.health import DeliveryHealth

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def add_envelope_tools(server: MCPServer[Any], dry_run: DryRun) -> None:
    @answered(error_sentence)
    async def messenger_validate_notify(notify_request: Envelope) -> Validation:
        """
        Check a notify.v1 envelope with the validator every door uses. Nothing is stored or sent.

        `errors` lists every field that is wrong: `field` is its path, `error` a sentence, `code` for programs.
        """
        return cast(Validation, validate(notify_request, dry_run.known_channels))

    @answered(error_sentence)
    async def messenger_dry_run(notify_request: Envelope) -> DryRunAnswer:
        """
        Say what would happen to a notify.v1 envelope right now. Nothing is stored, sent or counted.

        Validates it, finds the target and the adapter, and asks the limits and the circuit as a real request would.
        `rate_limit_headroom` is in tokens per tier: a send or a reaction takes one, a reply half of one. When
        `would_be_admitted` is false, `refusal` is the error the real request would get. `duplicate_of` names the
        delivery that would answer instead, because the same request was made before. With `may_need_approval` a person
        is asked first, unless a standing rule decides. `would_be_held` says until when and why the person's attention
        policy would hold it; it is left out when it would leave now.
        """
        return cast(DryRunAnswer, await dry_run.run(notify_request))

    for tool in (messenger_validate_notify, messenger_dry_run):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def add_health_tools(server: MCPServer[Any], health: DeliveryHealth) -> None:
    @answered(error_sentence)
    async def messenger_circuit_status(channel: ChannelName = None) -> CircuitStatus:
        """
        The circuit breaker of each channel, or of one.

        `closed`: deliveries go out. `open`: the provider failed too often (`trip_reason`, `trip_timestamp`); new
        requests are refused and stored ones wait for `retry_after_seconds`. `half-open`: a few probes decide.
        `recovery` holds the settings.
        """
        return cast(CircuitStatus, await health.circuits(channel))

    @answered(error_sentence)
    async def messenger_rate_limit_status(
        channel: ChannelName = None, identity_scope: ScopeName = None
    ) -> RateLimitStatus:
        """
        What is left of the rate limits: for the household, for each channel and identity, and in flight.

        `available` and `consumed` are tokens, `refill_rate` tokens per second; `window_reset_seconds` until the bucket
        is full again. `provider_throttles` are channels whose provider told us to wait. Looking takes no token.
        """
        return cast(RateLimitStatus, await health.rate_limits(channel, identity_scope))

    @answered(error_sentence)
    async def messenger_queue_depth(channel: ChannelName = None) -> QueueDepth:
        """
        How many deliveries are stored and not decided yet: pending and in_progress, by status and by channel.

        `oldest_age_seconds` is how long the oldest of them has been waiting.
        """
        return cast(QueueDepth, await health.queue_depth(channel))

    @answered(error_sentence)
    async def messenger_delivery_stats(
        since: Moment = None, until: Moment = None, group_by: GroupName = None
    ) -> DeliveryStats:
        """
        Figures over the deliveries stored in a window of time (the last 24 hours by default).

        `success_rate` is over finished deliveries only; `retry_rate` is the share of attempted ones that took more
        than one attempt; a rate of nothing is null. p50 and p95 are nearest-rank percentiles over single provider
        calls. `group_by` adds the same figures per `channel`, `intent`, `origin_butler`, `outcome` (the delivery's
        status) or `error_class` (of its final error, `none` without one); every delivery is in exactly one group.
        """
        return cast(DeliveryStats, await health.statistics(since, until, group_by))

    for tool in (
        messenger_circuit_status,
        messenger_rate_limit_status,
        messenger_queue_depth,
        messenger_delivery_stats,
    ):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)
