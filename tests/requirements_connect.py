"""What `postroom connect` and `postroom hook` promise."""

from __future__ import annotations

CONNECT = {
    "Clients": {
        "byte-for-byte": "Connecting adds our entry to the client's file; comments, order and whitespace stay, and "
        "removing it restores the very bytes.",
        "shown-first": "The change is shown as a diff; --dry-run writes nothing, and without a yes nothing is written.",
        "repeatable": "A second connect changes nothing, and the same token is used again.",
        "remove": "--remove takes out exactly our entries, also when others were added meanwhile.",
        "refused-untouched": "A file that is not what it should be is refused in one sentence and stays as it is.",
        "kept-as-it-was": "Links stay links, modes stay as they were, a copy lies beside, and a crash leaves no half.",
        "no-token-shown": "No client's file and no output holds the token; the file that does is its owner's alone.",
        "list": "--list says of every client whether it is here, connected, and reaches its household now.",
        "read-back": "The clients' own programs read back what was written.",
        "skill": "--skill installs a skill that says when to ask, once, and to wait.",
        "service": "service install writes a unit that systemd accepts, or launchd's file on macOS.",
    },
    "Bridge": {
        "bridge": "A client that starts programs reaches the household's tools; the session outlives its restart.",
        "bridge-answers": "Every request gets an answer, also when the household is away or the token is not valid.",
    },
    "Hooks": {
        "hook-permission": "A permission request becomes a card; its button is the client's own answer shape.",
        "hook-session": "Allow for this session echoes the client's own suggestion for the session.",
        "hook-question": "AskUserQuestion is answered by the person's choices in the client's own labels, never empty.",
        "hook-plan": "A plan is allowed, denied, or sent back with the person's words.",
        "hook-abstains": "On timeout, garbage, doubt or without a household the hook says nothing and exits with 0.",
        "hook-closes": "When the terminal was quicker, or the program ends, the card is closed.",
        "hook-notices": "A waiting or finished agent is a message to the person.",
        "hook-visible": "Commands are shown whole, hidden characters by name, secrets masked; else no one is asked.",
        "hook-quick": "The hook imports nothing heavy.",
        "hook-once": "The same call in the same prompt is asked once while it is open, and again when it was closed.",
    },
    "Permission tool": {
        "permission-tool": "permission_prompt asks with the hook's card and answers headless Claude Code in its shape; "
        "a repeat joins, silence is a no that no person gave.",
        "ready-prompts": "The skill's words are served as MCP prompts on every server that asks.",
    },
    "Headless": {
        "headless-resumed": "A headless agent ends at a call, and is resumed with the person's answer.",
        "headless-killed": "A runner that was killed goes on when it is started again, and asks no one twice.",
        "headless-alone": "A call is deferred only when it is alone in its message; others are waited for.",
        "headless-kept": "What was deferred stays open while the client's program, or the household, is away.",
    },
    "Models": {
        "llms-txt": "The household serves llms.txt without a token.",
        "conformance": "The MCP conformance program passes what it asks of a product, in both eras of the protocol.",
        "end-to-end": "A real client with a stubbed model shows the card, and the tap lets the command run.",
    },
}
