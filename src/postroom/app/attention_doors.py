"""The doors of attention, put together: the tools of every butler and of the assistants, and REST."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from mcp.server.mcpserver import MCPServer

from postroom.app.address_book import Approvers
from postroom.app.attention import build_attention, button_key
from postroom.app.known_channels import known_channels
from postroom.app.people import household_people, opened_store_of_people
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ports import Channel, Outbound
from postroom.doors.attention.acts import AttentionActs
from postroom.doors.attention.notice_routes import notice_router
from postroom.doors.attention.person_routes import attention_router
from postroom.doors.attention.policy_body import PolicyBodies
from postroom.doors.attention.tools import AGENTS_TOOLS, PERSONS_TOOLS, AttentionToolParts, add_attention_tools
from postroom.doors.attention.who_may import WhoMay
from postroom.doors.butler.daemon import Butler
from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.tool_policy import Rule, answers_for_themselves, butler, person, program
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.attention.attention import Attention
from postroom.work.conversations.inbound import Handler
from postroom.work.conversations.notice_ear import NoticeEar, ProvedPeople
from postroom.work.questions.hearing import AnswersPresses
from postroom.world.store.conversations.said import StoredTalk


def attention_acts(settings: Settings, store: OpenedStore, attention: Attention, clock: Clock) -> AttentionActs:
    people = household_people(settings, store, clock)
    decides = answers_for_themselves(Approvers(settings.approvals.approvers, store.household))
    bodies = PolicyBodies(attention=attention, people=people, channels=known_channels(settings))
    return AttentionActs(attention=attention, bodies=bodies, may=WhoMay(decides))


@asynccontextmanager
async def opened_attention(settings: Settings) -> AsyncIterator[AttentionActs]:
    """Without a running household, on the same database; one that runs sees what was done there within a second."""
    clock = SystemClock()
    async with opened_store_of_people(settings, clock) as store:
        attention = build_attention(settings, store, clock)
        await attention.book.refresh()
        yield attention_acts(settings, store, attention, clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionDoors:
    settings: Settings
    acts: AttentionActs
    said: StoredTalk
    clock: Clock

    def routers(self) -> list[APIRouter]:
        return [notice_router(self.acts), attention_router(self.acts)]

    def butlers(self, server: GuardedServer, one: Butler) -> None:
        """The butler takes its own notices back; what is done in a person's name answers to people alone."""
        add_attention_tools(server, AttentionToolParts(acts=self.acts, verifier=one.verifier))
        server.policy.allow(dict.fromkeys((*PERSONS_TOOLS, *AGENTS_TOOLS), butler(one.name)))

    def assistants(self, server: MCPServer[Any], verifier: Verifier) -> dict[str, Rule]:
        """A program, whose tools are few, takes its own notices back over HTTP."""
        add_attention_tools(server, AttentionToolParts(acts=self.acts, verifier=verifier))
        own = dict.fromkeys(AGENTS_TOOLS, lambda one: not program(one))
        return {**dict.fromkeys(PERSONS_TOOLS, person), **own}

    def ear(self, people: ProvedPeople, channels: Mapping[str, Channel], outbound: Outbound) -> Handler:
        """Hears where the bots are what people press and write about notices."""
        return NoticeEar(
            attention=self.acts.attention,
            people=people,
            said=self.said,
            key=button_key(self.settings),
            outbound=outbound,
            bots={name: channel for name, channel in channels.items() if isinstance(channel, AnswersPresses)},
            clock=self.clock,
        ).handle


def attention_doors(settings: Settings, store: OpenedStore, attention: Attention, clock: Clock) -> AttentionDoors:
    acts, said = attention_acts(settings, store, attention, clock), StoredTalk(store.database)
    return AttentionDoors(settings=settings, acts=acts, said=said, clock=clock)
