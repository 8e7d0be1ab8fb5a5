"""A caller without a browser: it says exactly what a test wants it to say."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import aiohttp

from tests.household.living import Living

_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]
    cookies: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Caller:
    """Cookies only when given: nothing is remembered from one request to the next."""

    base: str
    http: aiohttp.ClientSession

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": self.base}

    async def get(self, path: str, cookies: Mapping[str, str] | None = None, **headers: str) -> Answer:
        return await self._ask("GET", path, None, cookies or {}, headers)

    async def post(
        self,
        path: str,
        form: Mapping[str, str],
        cookies: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        return await self._ask("POST", path, form, cookies or {}, self.origin if headers is None else headers)

    async def sign_in(self, link: str) -> dict[str, str]:
        answer = await self.post("/console/login", {"key": key_of(link)})
        assert answer.status == 303, answer.text
        return dict(answer.cookies)

    async def form_token(self, cookies: Mapping[str, str]) -> str:
        found = _TOKEN.search((await self.get("/console/", cookies)).text)
        assert found is not None
        return found[1]

    async def _ask(
        self,
        method: str,
        path: str,
        form: Mapping[str, str] | None,
        cookies: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> Answer:
        worn = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        async with self.http.request(
            method, self.base + path, data=form, headers={**headers, **worn}, allow_redirects=False
        ) as response:
            kept = {name: morsel.value for name, morsel in response.cookies.items()}
            return Answer(response.status, await response.text(), response.headers, kept)


@asynccontextmanager
async def calling(home: Living) -> AsyncIterator[Caller]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        yield Caller(home.household.addresses["api"], http)


def key_of(link: str) -> str:
    return parse_qs(urlsplit(link).query)["key"][0]
