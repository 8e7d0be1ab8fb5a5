"""What stands in the token file: who holds which token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from postroom.domain.principal import OPERATOR, Principal, Role

_GROUPS: Final = {Role.BUTLER: "butlers", Role.CONNECTOR: "connectors", Role.USER: "users"}
_HOUSEHOLD: Final = (Role.OPERATOR, Role.BUTLER, Role.CONNECTOR)
_OPERATOR: Final = "operator"
_MORE: Final = "tokens"
_MADE: Final = "made_at"
_AGENTS: Final = "connector_agents"
_SHORTEST: Final = 16
_ID_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One token, and whose it is."""

    principal: Principal
    token: str = field(repr=False)
    label: str = ""
    created_at: str | None = None  # unknown for tokens from before it was written down

    @property
    def id(self) -> str:
        return token_id(self.token)


def token_id(token: str) -> str:
    """Names a token in lists and commands; says nothing that would help to guess it."""
    return digest(token).hex()[:_ID_CHARACTERS]


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def held(document: Mapping[str, Any]) -> Iterator[Held]:
    """The household's own first. Only what can be a token: a null or an empty text opens no door."""
    for principal, token in _own(document):
        yield Held(principal=principal, token=token, created_at=_text(_dict(document, _MADE).get(token_id(token))))
    for record in _records(document):
        if (one := _of_record(record)) is not None:
            yield one


def has_own(document: Mapping[str, Any], principal: Principal) -> bool:
    """The household keeps a token of its own for all its parts, so that people can revoke theirs."""
    if principal.role in _HOUSEHOLD:
        return any(one == principal for one, _ in _own(document))
    return any(one.principal == principal for one in held(document))


def put_own(document: dict[str, Any], principal: Principal, token: str, now: str) -> None:
    if principal.role not in _HOUSEHOLD:
        add(document, Held(principal=principal, token=token, created_at=now))
        return
    if principal.role is Role.OPERATOR:
        document[_OPERATOR] = token
    else:
        group = _GROUPS[principal.role]
        document[group] = {**_dict(document, group), principal.name: token}
    document[_MADE] = {**_dict(document, _MADE), token_id(token): now}


def add(document: dict[str, Any], one: Held) -> None:
    record = {
        "token": one.token,
        "role": str(one.principal.role),
        "name": one.principal.name,
        "label": one.label,
        "created_at": one.created_at,
    }
    if one.principal.person is not None:
        record["for"] = one.principal.person
    document[_MORE] = [*_records(document), record]


def remove(document: dict[str, Any], goes: Callable[[Held], bool]) -> list[Held]:
    """What was removed. A connector without a token speaks for no agent."""
    gone = [one for one in held(document) if goes(one)]
    tokens = [one.token for one in gone]
    if document.get(_OPERATOR) in tokens:
        del document[_OPERATOR]
    for group in _GROUPS.values():
        for name in [name for name, token in _dict(document, group).items() if token in tokens]:
            del document[group][name]
    if gone and _MORE in document:
        document[_MORE] = [one for one in _records(document) if one.get("token") not in tokens]
    for one in gone:
        _dict(document, _MADE).pop(one.id, None)
    _silence(document, {one.principal.name for one in gone if one.principal.role is Role.CONNECTOR})
    return gone


def agents(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The agents that a connector's tokens speak for."""
    return {name: tuple(map(str, one)) for name, one in _dict(document, _AGENTS).items() if isinstance(one, list)}


def speak_for(document: dict[str, Any], connector: str, agent: str) -> None:
    document[_AGENTS] = {**{name: list(one) for name, one in agents(document).items()}, connector: [agent]}


def _silence(document: dict[str, Any], connectors: set[str]) -> None:
    left = {one.principal.name for one in held(document) if one.principal.role is Role.CONNECTOR}
    for name in connectors - left:
        _dict(document, _AGENTS).pop(name, None)


def _own(document: Mapping[str, Any]) -> Iterator[tuple[Principal, str]]:
    if _is_token(token := document.get(_OPERATOR)):
        yield OPERATOR, token
    for role, group in _GROUPS.items():
        for name, token in _dict(document, group).items():
            if _is_token(token):
                yield Principal(role, name), token


def _of_record(record: Mapping[str, Any]) -> Held | None:
    token, name, person = record.get("token"), record.get("name"), record.get("for")
    if not _is_token(token) or not _text(name) or record.get("role") not in list(Role):
        return None
    role = Role(record["role"])
    if (role is Role.PROGRAM) != bool(_text(person)) or (role is Role.OPERATOR and name != OPERATOR.name):
        return None
    return Held(
        principal=Principal(role, str(name), person=person),
        token=token,
        label=_text(record.get("label")) or "",
        created_at=_text(record.get("created_at")),
    )


def _records(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    records = document.get(_MORE)
    return [one for one in records if isinstance(one, dict)] if isinstance(records, list) else []


def _dict(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    group = document.get(name)
    return group if isinstance(group, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= _SHORTEST
