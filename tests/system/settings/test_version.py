"""Every MCP server says which Postroom it is."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from tests.app.living import living

from postroom.programs.desk.server import build_server
from postroom.programs.desk.settings import PopupSettings
from postroom.system.settings.version import package_version

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    },
}


async def test_every_mcp_server_of_a_household_names_the_packages_version(home: Path) -> None:
    told = {}
    async with living(home) as household:
        headers = {"Authorization": f"Bearer {household.token('operator')}", "Accept": "application/json"}
        for part in ("switchboard", "general", "health", "messenger", "api"):
            url = household.household.addresses[part].removesuffix("/mcp") + "/mcp"
            async with household.http.post(url, json=INITIALIZE, headers=headers) as response:
                told[part] = (await response.json())["result"]["serverInfo"]["version"]

    assert set(told.values()) == {version("postroom")} == {package_version()}


def test_the_desk_names_it_too(tmp_path: Path) -> None:
    settings = PopupSettings(home=tmp_path, voicemode=tmp_path, project_path=str(tmp_path))

    assert build_server(settings).version == package_version()
