from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.channels.slack.fake_slack import FakeSlack

from postroom.channels.slack.channel import Slack


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def slack(fake: FakeSlack) -> AsyncIterator[Slack]:
    slack = Slack("slack-work", "xoxb-1", api_base_url=fake.url)
    yield slack
    await slack.close()
