"""Speaks to a sandbox over its sockets, as a channel and a person at a terminal do."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.message import EmailMessage
from typing import Any

import aiohttp

from postroom.kernel.running.clock import Clock
from postroom.sandbox.records import SANDBOX_TOKEN
from postroom.sandbox.server import Sandbox, SandboxOptions

Start = Callable[..., Awaitable["Client"]]


@asynccontextmanager
async def starting(make: Callable[[SandboxOptions, Clock], Sandbox], clock: Clock) -> AsyncIterator[Start]:
    """Starts sandboxes that end together."""
    opened: list[Client] = []

    async def start_one(**options: Any) -> Client:
        sandbox = make(SandboxOptions(**options), clock)
        await sandbox.start()
        timeout = aiohttp.ClientTimeout(total=20)
        client = Client(sandbox, aiohttp.ClientSession(sandbox.bot_api_url, timeout=timeout))
        opened.append(client)
        return client

    try:
        yield start_one
    finally:
        for client in opened:
            await client.http.close()
            await client.sandbox.stop()


class Client:
    def __init__(self, sandbox: Sandbox, http: aiohttp.ClientSession) -> None:
        self.sandbox = sandbox
        self.http = http

    async def bot(self, method: str, *, token: str = SANDBOX_TOKEN, **arguments: Any) -> dict[str, Any]:
        async with self.http.post(f"/bot{token}/{method}", json=arguments) as answer:
            return {"http_status": answer.status, "http_headers": answer.headers, **await answer.json()}

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        async with self.http.get(path, params=query) as answer:
            return {"http_status": answer.status, **await answer.json()}

    async def post(self, path: str, body: object) -> dict[str, Any]:
        async with self.http.post(path, json=body) as answer:
            return {"http_status": answer.status, **await answer.json()}

    async def delete(self, path: str) -> dict[str, Any]:
        async with self.http.delete(path) as answer:
            return {"http_status": answer.status, **await answer.json()}

    async def arm(self, **fault: Any) -> None:
        assert (await self.post("/sandbox/faults", fault))["http_status"] == 200

    async def texts(self) -> list[str]:
        return [message["text"] for message in (await self.get("/sandbox/telegram/messages"))["messages"]]

    async def mails(self) -> list[dict[str, Any]]:
        return list((await self.get("/sandbox/email/messages"))["messages"])

    async def mail(self, message: EmailMessage, **options: Any) -> None:
        await asyncio.to_thread(send_mail, self.sandbox.smtp_port, message, **options)


def send_mail(port: int, message: EmailMessage, *, login: tuple[str, str] | None = None, timeout: float = 10) -> None:
    with smtplib.SMTP("127.0.0.1", port, local_hostname="client.invalid", timeout=timeout) as connection:
        if login is not None:
            connection.login(*login)
        connection.send_message(message)


def letter(subject: str = "Hello", body: str = "How are you?", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "bot@example.com", "ada@example.com", subject
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message
