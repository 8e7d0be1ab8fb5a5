"""The side of those who call: an act as a request, and the answer as what the act declares."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from postroom.kernel.acts.declaration import Act, Answer
from postroom.kernel.acts.reading import answer_of


class ActRequest(NamedTuple):
    method: str
    target: str
    body: dict[str, Any] | None


def request_of(one: Act[Any]) -> ActRequest:
    """Only what was said goes: what was left out is for the household to choose."""
    route = type(one).declared.route
    if route is None:
        raise LookupError(f"{type(one).__name__} has no route")
    sent = one.model_dump(mode="json", by_alias=True, exclude_unset=True)
    path, query = route.path, dict[str, Any]()
    for name in [*sent, *(missing for missing in route.absent if missing not in sent)]:
        if route.is_in_path(name):
            path = path.replace(f"{{{name}}}", quote(str(sent.pop(name, None) or route.absent[name]), safe=""))
        elif route.is_in_query(name):
            query[name] = _text(sent.pop(name))
    target = f"{path}?{urlencode(query, doseq=True)}" if query else path
    return ActRequest(route.method, target, None if route.method in ("GET", "DELETE") else sent)


def answer_from(one: Act[Answer], content: bytes | str) -> Answer:
    return answer_of(type(one)).validate_json(content)


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
