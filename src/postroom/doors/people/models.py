"""Bodies of the registry's requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from postroom.domain.contact_book import Remembered
from postroom.domain.person import Person
from postroom.domain.time import to_text
from postroom.doors.guard.json_body import Agent, Strict, Text
from postroom.work.people.contact_addresses import EMAIL, TELEGRAM

Name = Annotated[Text, Field(min_length=1, max_length=255)]
MatchName = Literal["explicit", "memory", "exact", "fuzzy", "smart_fuzzy"]


class ResolveRequest(Strict):
    owner_agent: Agent
    query: Name
    limit: Annotated[int, Field(ge=1, le=20)] = 5
    input_mode: Literal["text", "voice"] = "text"
    locale: Annotated[Text | None, Field(max_length=35)] = None


class CandidateBody(BaseModel):
    agent_address: str
    display_name: str
    alias: str
    match_type: MatchName
    score: float
    hint: str
    why: str
    resolution_token: str | None = None


class ResolveAnswer(BaseModel):
    ok: bool
    decision_mode: Literal["resolved", "needs_confirmation", "needs_disambiguation", "contact_not_found"]
    resolved: bool
    matched_alias: str | None
    match_type: MatchName | None
    agent_address: str | None
    score: float | None
    query_normalized: str
    why: str
    candidates: list[CandidateBody]
    resolution_token: str | None
    expires_at: str | None


class ConfirmRequest(Strict):
    owner_agent: Agent
    query: Name
    agent_address: Agent | None = None
    resolution_token: Annotated[Text | None, Field(min_length=8, max_length=128)] = None
    choice: Agent | None = None
    source: Literal["user_choice", "confirm_send"] = "user_choice"


class MemoryBody(BaseModel):
    memory_id: str
    query: str
    agent_address: str
    alias: str
    source: str
    confirm_count: int
    confirmed_at: str

    @classmethod
    def of(cls, memory: Remembered) -> MemoryBody:
        return cls(
            memory_id=memory.id,
            query=memory.query,
            agent_address=memory.agent_address,
            alias=memory.alias,
            source=memory.source,
            confirm_count=memory.confirm_count,
            confirmed_at=to_text(memory.confirmed_at_us),
        )


class ConfirmAnswer(MemoryBody):
    ok: bool
    match_type: Literal["memory"]


class MemoryPage(BaseModel):
    ok: bool
    memory: list[MemoryBody]
    next_cursor: str | None


class ContactRequest(Strict):
    name: Name
    aliases: Annotated[list[Name], Field(max_length=50)] = Field(default_factory=list)
    agent: Agent | None = None
    telegram_chat_id: Annotated[Text | None, Field(max_length=64)] = None
    email: Annotated[Text | None, Field(max_length=320)] = None
    trusted: bool = False


class AliasRequest(Strict):
    alias: Name


class ContactBody(BaseModel):
    contact_id: str
    name: str
    aliases: list[str]
    agent_address: str
    telegram_chat_id: str | None
    email: str | None
    trusted: bool
    source: str
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, contact: Person) -> ContactBody:
        return cls(
            contact_id=contact.id,
            name=contact.name,
            aliases=list(contact.aliases),
            agent_address=contact.agent_address,
            telegram_chat_id=contact.address_on(TELEGRAM),
            email=contact.address_on(EMAIL),
            trusted=contact.trusted,
            source=contact.source,
            created_at=to_text(contact.created_at_us),
            updated_at=to_text(contact.updated_at_us),
        )


class ContactAnswer(BaseModel):
    ok: bool
    contact: ContactBody


class ContactPage(BaseModel):
    ok: bool
    contacts: list[ContactBody]
    next_cursor: str | None


class ImportRequest(Strict):
    format: Literal["vcard", "csv"]
    content: Annotated[str, Field(min_length=1, max_length=250_000)]


class SkippedCard(BaseModel):
    card: int
    reason: str


class ImportAnswer(BaseModel):
    ok: bool
    created: int
    updated: int
    skipped: list[SkippedCard]
