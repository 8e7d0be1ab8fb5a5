"""Whether a channel that can ask what arrived believes the answer, and nothing else."""

from __future__ import annotations

from postroom.domain.delivery import Receipt
from postroom.domain.errors import OutcomeUncertain, PostroomError
from postroom.domain.ports import Reconcile
from postroom.testing.attempt import attempt, connected, ensure_ended
from postroom.testing.case import Case, Place
from postroom.testing.check import ensure
from postroom.testing.sample import numbered
from postroom.testing.servers.http import HttpProvider
from postroom.testing.servers.http_reply import Reply, Trouble, raw_reply
from postroom.testing.servers.http_request import TakenRequest


async def reconciles(case: Case) -> None:
    await _looked_for(case, number_asked=1, found=True)
    await _looked_for(case, number_asked=2, found=False)
    await _away(case)


async def _looked_for(case: Case, *, number_asked: int, found: bool) -> None:
    async with _asked(case) as provider, connected(case, Place(port=provider.port)) as channel:
        ensure(isinstance(channel, Reconcile), "`reconciles` is declared, and there is no method `find`")
        since = case.now()
        provider.behave(Trouble.READ_THEN_RESET)
        part = channel.prepare(numbered(case, 1))[0]
        ensure_ended(await attempt(channel, part, 10.0), OutcomeUncertain)
        looked = channel.prepare(numbered(case, number_asked))[0]
        receipt = await channel.find(looked, since, 10.0) if isinstance(channel, Reconcile) else None
    ensure(provider.taken == 1, "asking sent the message again")
    if found:
        ensure(isinstance(receipt, Receipt) and receipt.provider_id, "what the provider has was not found")
    else:
        ensure(receipt is None, "what was never sent was found")


async def _away(case: Case) -> None:
    async with _asked(case, away=True) as provider, connected(case, Place(port=provider.port)) as channel:
        part = channel.prepare(numbered(case, 1))[0]
        try:
            await channel.find(part, case.now(), 10.0) if isinstance(channel, Reconcile) else None
        except PostroomError as error:
            ensure(not isinstance(error, OutcomeUncertain), "a question that gets no answer has no outcome")
            return
    raise AssertionError("the provider could not say, and find did")


def _asked(case: Case, *, away: bool = False) -> HttpProvider:
    """The case's own provider, which answers what it is asked from what it took."""
    provider, tells = case.words.provider(), case.proofs.reconciles
    if tells is None:
        raise AssertionError("`reconciles` is declared, and the Case gives no proof of it")
    if not isinstance(provider, HttpProvider):
        raise AssertionError("reading back is proved with a provider over HTTP")
    before = provider.aside

    def aside(request: TakenRequest) -> Reply | None:
        told = tells(request, provider.messages)
        if told is None:
            return before(request) if before else None
        return raw_reply(503, b"later") if away else told

    provider.aside = aside
    return provider
