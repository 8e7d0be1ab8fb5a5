"""`postroom connectors`: what an assistant's host needs to know of this household."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.output import Home, Json, say, say_json
from postroom.domain.nearest import did_you_mean
from postroom.domain.settings_error import SettingsError
from postroom.domain.web_address import web_address
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

app = typer.Typer(help="Connect ChatGPT and Gemini.", no_args_is_help=True)

Which = Annotated[str, typer.Argument(help="chatgpt or gemini.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder to write into; by default ./postroom-NAME.")]
Url = Annotated[str, typer.Option("--url", help="Public address of the adapter, https://…")]
McpUrl = Annotated[str, typer.Option("--mcp-url", help="Public address of the assistants' MCP server.")]


@app.command("export")
def export(
    which: Which, out: Out = None, url: Url = "", mcp_url: McpUrl = "", home: Home = None, json: Json = False
) -> None:
    """Write the files a host imports: an OpenAPI document, an extension manifest, function declarations."""
    from postroom.doors.assistants.profile import FACES

    settings, _ = from_process({"home": home})
    if which not in FACES:
        raise SettingsError(
            f"There is no connector '{which}'{did_you_mean(which, FACES)} There are {', '.join(FACES)}."
        )
    folder = out or Path(f"postroom-{which}")
    folder.mkdir(parents=True, exist_ok=True)
    files = _files(which, settings, url, mcp_url)
    for name, content in files.items():
        folder.joinpath(name).write_text(content, encoding="utf-8")
    if json:
        say_json({"folder": str(folder), "files": sorted(files)})
        return
    for name in files:
        say(str(folder / name))


def _files(which: str, settings: Settings, url: str, mcp_url: str) -> dict[str, str]:
    from postroom.doors.assistants.export import chatgpt_files, gemini_files
    from postroom.doors.assistants.household_client import HouseholdClient
    from postroom.doors.assistants.profile import CHATGPT, FACES
    from postroom.doors.assistants.standalone import adapter_parts, own_url

    api, face = web_address(settings.host, settings.ports.api), FACES[which]
    parts = adapter_parts(face, settings, HouseholdClient(api), own_url=own_url(face, settings), public_url=url)
    return chatgpt_files(parts) if face is CHATGPT else gemini_files(parts, mcp_url or f"{api}/mcp")
