from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import postroom
from typer.testing import CliRunner

from postroom.cli.application import app
from postroom.connectors.profile import CHATGPT, FIELDS, GEMINI

RUN = CliRunner()


@pytest.fixture
def exported(home: Path, tmp_path: Path) -> dict[str, dict[str, str]]:
    made = {}
    for name in ("chatgpt", "gemini"):
        result = RUN.invoke(
            app, ["connectors", "export", name, "--out", str(tmp_path / name), "--url", "https://post.example"]
        )
        assert result.exit_code == 0, result.output
        made[name] = {file.name: file.read_text() for file in (tmp_path / name).iterdir()}
    return made


def test_an_action_gets_its_openapi_document(exported: dict[str, dict[str, str]]) -> None:
    document = json.loads(exported["chatgpt"]["openapi.json"])

    assert document["servers"] == [{"url": "https://post.example"}]
    schema = document["paths"]["/v1/adapt"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(schema["properties"]) == {CHATGPT.wire(rule.name) for rule in FIELDS}
    assert schema["required"] == ["requester_agent"]
    assert len(exported["chatgpt"]["openapi.json"]) < 100_000


def test_gemini_gets_an_extension_a_configuration_and_declarations(exported: dict[str, dict[str, str]]) -> None:
    files = exported["gemini"]
    extension = json.loads(files["gemini-extension.json"])
    declarations = {one["name"]: one for one in json.loads(files["function_declarations.json"])}

    server = extension["mcpServers"]["postroom"]
    assert server["type"] == "http" and server["url"].endswith("/mcp")
    assert extension["contextFileName"] in files
    assert "serverUrl" in json.loads(files["mcp_config.json"])["mcpServers"]["postroom"]
    assert set(declarations) == {"send_message", "resolve_recipient"}
    assert set(declarations["send_message"]["parameters"]["properties"]) == {GEMINI.wire(rule.name) for rule in FIELDS}
    assert "additionalProperties" not in json.dumps(declarations)


def test_no_secret_is_exported(exported: dict[str, dict[str, str]], home: Path) -> None:
    everything = json.dumps(exported)

    assert "pr_connector_" not in everything


def test_an_unknown_assistant_is_refused(home: Path) -> None:
    assert postroom("connectors", "export", "clippy").code == 2


def test_a_token_can_be_made_for_one_agent(home: Path) -> None:
    made = RUN.invoke(app, ["token", "create", "--connector", "alexa", "--agent", "agent://household/kitchen"])
    wrong = postroom("token", "create", "--user", "ann", "--agent", "agent://household/kitchen")

    assert made.exit_code == 0 and wrong.code == 2
    assert json.loads((home / "tokens.json").read_text())["connector_agents"] == {
        "alexa": ["agent://household/kitchen"]
    }
