"""The doors of attention, put together: the tools of every butler and of the assistants, and REST."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from mcp.server.mcpserver import MCPServer

from postroom.attention.acts import (
    AGENTS_TOOLS,
    PERSONS_TOOLS,
    AttentionActs,
    AttentionToolParts,
    PolicyBodies,
    WhoMay,
    add_attention_tools,
)
from postroom.attention.attention import Attention
from postroom.attention.routes import attention_router, notice_router
from postroom.butlers.daemon import Butler
from postroom.conversations.history import StoredTalk
from postroom.conversations.inbound import Handler
from postroom.conversations.mute_and_snooze import NoticeEar, ProvedPeople
from postroom.household.wiring.attention import build_attention, button_key
from postroom.household.wiring.channels import known_channels
from postroom.household.wiring.people import household_people, opened_store_of_people
from postroom.household.wiring.store import Approvers, OpenedStore
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, answers_for_themselves, butler, person, program
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.message.channel import Channel, Outbound
from postroom.questions.hearing import AnswersPresses
from postroom.settings import Settings


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
