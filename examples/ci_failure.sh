#!/bin/sh
# The last step of a CI job: leaves a warning about a failed run in a person's inbox. The runner needs only curl.
#
#   POSTROOM_URL    where the household's API is, for example https://post.example.org
#   POSTROOM_TOKEN  what `postroom token create --program ci --for owner` printed; keep it as a secret of the CI service
#
#   ci_failure.sh PIPELINE BRANCH RUN_URL
set -eu

# These words come from the repository, so they are handed over as data: quoted for JSON, never pasted into it.
quoted() { printf '%s' "$1" | tr -d '\000-\037' | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g'; }

message="$(quoted "$1") failed on $(quoted "$2"): $(quoted "$3")"
revision=2026-07-28 # of the protocol; from this one on a call needs no session

curl --fail-with-body --silent --show-error --retry 3 "$POSTROOM_URL/mcp" \
    -H "Authorization: Bearer $POSTROOM_TOKEN" \
    -H 'Content-Type: application/json' \
    -H 'Accept: application/json, text/event-stream' \
    -H "MCP-Protocol-Version: $revision" \
    -H 'Mcp-Method: tools/call' \
    -H 'Mcp-Name: send_notification' \
    --data-binary @- <<END
{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
  "name": "send_notification",
  "arguments": {"type": "warning", "message": "$message"},
  "_meta": {
    "io.modelcontextprotocol/protocolVersion": "$revision",
    "io.modelcontextprotocol/clientInfo": {"name": "ci", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}}}}
END
