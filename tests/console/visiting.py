"""A visit without a network, for pages whose sources a test wants to choose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from postroom.console.frame import NameBook, Navigation, NavigationEntry
from postroom.console.visit import ConsoleSection, Form, Templates, Visit
from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.message.delivery import HeldAddress

NOW_US = 1_800_000_000_000_000
_TEMPLATES = Templates()


class KnownPeople:
    """Those that a test names, and no others."""

    def __init__(self, *people: HeldAddress) -> None:
        self._people = people

    async def held(self, folded: Collection[str], ids: Collection[str]) -> Sequence[HeldAddress]:
        return [one for one in self._people if one.folded in folded or (one.channel is None and one.person_id in ids)]


async def opened(section: ConsoleSection, principal: Principal = OPERATOR, query: str = "") -> str:
    """The section's first page as it is shown."""
    navigation = Navigation([NavigationEntry(name=section.name, path=f"/console{section.path}", group=section.group)])
    response: Response = await section.pages[0].handler(
        visit(section.path, principal, query=query, navigation=navigation)
    )
    return bytes(response.body).decode()


def visit(
    where: str,
    principal: Principal = OPERATOR,
    *,
    query: str = "",
    form: Form | None = None,
    path: Mapping[str, str] | None = None,
    navigation: Navigation | None = None,
    people: Sequence[HeldAddress] = (),
) -> Visit:
    """`path` holds the parts of `where` that a route would have named."""
    scope = {
        "type": "http",
        "method": "GET" if form is None else "POST",
        "path": f"/console{where}",
        "path_params": dict(path or {}),
        "query_string": query.encode(),
        "headers": [],
        "scheme": "http",
        "server": ("test", 80),
    }
    return Visit(
        request=Request(scope),
        principal=principal,
        secret="secret",
        form=form or Form(),
        now_us=NOW_US,
        templates=_TEMPLATES,
        navigation=navigation or Navigation(),
        book=NameBook(records=KnownPeople(*people)),
    )
