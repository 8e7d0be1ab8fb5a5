# /// script
# dependencies = ["postroom", "claude-agent-sdk"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
Claude Agent SDK: a command that runs once a person has allowed it, even if this process dies meanwhile.

    postroom up                                         # in another terminal
    export ANTHROPIC_API_KEY=...
    python examples/drive_claude_agent.py release-17    # kill it, approve on the phone, start it again
"""

from __future__ import annotations

import asyncio
import sys
import uuid

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

from postroom.agents.claude_agent import drive


async def main(version: str) -> None:
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"release:{version}"))
    options = ClaudeAgentOptions(tools=["Bash"], setting_sources=[])
    messages = await drive(f"Append a line with {version} to deployed.txt", options, session_id=session)
    print(next(one.result for one in messages if isinstance(one, ResultMessage)))


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17"))
