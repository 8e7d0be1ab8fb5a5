"""The exhibits about what people are asked, and what becomes of their answers."""

from __future__ import annotations

from typing import Final

from tests.museum.catalogue import Exhibit

LOST: Final = (
    Exhibit(
        *("bb-3408", "get-bb/bb", 3408),
        "The person answered after the agent's call had run into its time limit, and the answer reached no one.",
        "A question is a stored row; the call only waits for it, and `wait` finds the answer later.",
    ),
    Exhibit(
        *("bb-1944", "get-bb/bb", 1944),
        "After sixty seconds the agent saw an error and decided by itself; the card could still be answered, in vain.",
        "The same question asked again joins the one that is there, with its answer and without a second card.",
    ),
    Exhibit(
        *("nimbalyst-776", "nimbalyst/nimbalyst", 776),
        "A form of a call that was long over could still be filled in and sent, and what was sent vanished.",
        "What comes too late is refused in words, on the phone and over HTTP, and is kept as an attempt.",
    ),
    Exhibit(
        *("nimbalyst-927", "nimbalyst/nimbalyst", 927),
        "Over sessions that last for days, answers were given and never reached the model.",
        "`answers` gives an agent that comes back what it missed, also after a restart of everything.",
    ),
    Exhibit(
        *("telegram-net-485", "TelegramBots/Telegram.Bot", 485),
        "A press on a button disappears from the provider's queue within minutes when no one fetches it.",
        "After a gap every open card says from when to when it was not heard, and asks for the press again.",
    ),
    Exhibit(
        *("grok-build-160", "phuryn/grok-build-vscode", 160),
        "When its time was over, a question stayed on the screen as if it could be answered.",
        "The card is edited: it says that the time is over, and has no buttons left.",
    ),
    Exhibit(
        *("nimbalyst-773", "nimbalyst/nimbalyst", 773),
        "A question that was dismissed kept swallowing the person's next messages as its answers.",
        "Only open questions hear; what ended is out of the way at once.",
    ),
    Exhibit(
        *("claude-code-78175", "anthropics/claude-code", 78175),
        "An empty text in the last field threw away everything that had been chosen before.",
        "An empty answer is refused by its field; ticks are kept until they are sent.",
    ),
)
ASKED_TWICE: Final = (
    Exhibit(
        *("mcp-feedback-enhanced-125", "Minidoracat/mcp-feedback-enhanced", 125),
        "A call without an answer came back as a failure, so the model asked again, for ever.",
        "The result says to wait and not to ask again; a model that does it all the same joins the first question.",
    ),
    Exhibit(
        *("zeroclaw-6565", "zeroclaw-labs/zeroclaw", 6565),
        "After the press the message kept its buttons and did not say what had been decided.",
        "The same message is edited to say who decided what, and offers nothing more.",
    ),
    Exhibit(
        *("clawd-on-desk-446", "rullerzhou-afk/clawd-on-desk", 446),
        "What was answered at the computer could still be pressed on the phone.",
        "The first answer closes every other card; a press on a phone that is behind is refused in words.",
    ),
)
CODING_AGENTS: Final = (
    Exhibit(
        *("claude-code-15400", "anthropics/claude-code", 15400),
        "A question of the agent reached its hooks as a permission, to be allowed or denied instead of answered.",
        "Both events of one question meet the same cards, and carry the person's answers back.",
    ),
    Exhibit(
        *("helios-37", "kamrul1157024/helios", 37),
        "A hook allowed the question without an answer, and the model was given an empty one.",
        "Without an answer of a person the hook says nothing, and the terminal asks.",
    ),
    Exhibit(
        *("claude-code-15433", "anthropics/claude-code", 15433),
        "The person answered at the terminal; the hook went on waiting, and its card elsewhere stayed open.",
        "The next event of the session takes the question back, which ends the hook and closes the card.",
    ),
    Exhibit(
        *("codex-11808", "openai/codex", 11808),
        "The notifier ran when a turn was over, and never while the agent stood still for a permission.",
        "The hook of a permission is a card on the phone with its buttons.",
    ),
    Exhibit(
        *("claude-code-warp-82", "warpdotdev/claude-code-warp", 82),
        "The end of a turn was reported as the end of the work while helpers in the background were still at it.",
        "With a helper at work nothing is said, because another turn follows; with a command at work it is said so.",
    ),
    Exhibit(
        *("clawd-on-desk-214", "rullerzhou-afk/clawd-on-desk", 214),
        "Each helper that ended was taken for the end of the whole task.",
        "The end of a helper is no message.",
    ),
)
CLIENTS: Final = (
    Exhibit(
        *("nimbalyst-758", "nimbalyst/nimbalyst", 758),
        "A tool that waited for a person was cut off because nothing was heard of it for five minutes.",
        "A waiting call reports its progress to clients that ask for it, in both versions of the protocol.",
    ),
    Exhibit(
        *("gsd-pi-1150", "open-gsd/gsd-pi", 1150),
        "A hidden limit of sixty seconds ended questions that were said to last ten minutes.",
        "How long a call waits and how long a question lives are two numbers, and both are the caller's.",
    ),
    Exhibit(
        *("mcp-feedback-enhanced-212", "Minidoracat/mcp-feedback-enhanced", 212),
        "The model asked for a time limit of one second, and got it.",
        "A deadline that no person could keep is refused by its name.",
    ),
    Exhibit(
        *("claude-code-30320", "anthropics/claude-code", 30320),
        "No answer, an empty answer and a lost answer read the same to the model: answered.",
        "Four ends are four states with four sentences, and each says whether a person acted.",
    ),
    Exhibit(
        *("mongodb-mcp-server-1366", "mongodb-js/mongodb-mcp-server", 1366),
        "A form was sent on a stream that no one reads, so it was never shown.",
        "A form comes on the call that asks.",
    ),
    Exhibit(
        *("claude-code-30552", "anthropics/claude-code", 30552),
        "A window that was dismissed counted as an answer, and the model took it for a yes.",
        "A form that is closed or sent empty is no one's word; the question stays open elsewhere.",
    ),
)
WRONG_PERSON: Final = (
    Exhibit(
        *("hermes-47790", "NousResearch/hermes-agent", 47790),
        "An agent mailed four customers before anyone had read what it wrote.",
        "What goes to a stranger waits until a person has seen and approved it.",
    ),
    Exhibit(
        *("openclaw-cliq-117", "sprintberlin/openclaw-cliq", 117),
        "Anyone who could press the button could approve, even themselves.",
        "A press counts by who pressed it: it has to be the one who was asked.",
    ),
    Exhibit(
        *("openclaw-62576", "openclaw/openclaw", 62576),
        "A request for approval went to everyone on the list of those who may write.",
        "A question is shown to those it is for, at their own addresses.",
    ),
    Exhibit(
        *("activepieces-14024", "activepieces/activepieces", 14024),
        "A scanner of mails opened the link before the person did, and so decided.",
        "Opening a link decides nothing and uses nothing up; only its form does.",
    ),
    Exhibit(
        *("alga-psa-2705", "Nine-Minds/alga-psa", 2705),
        "An out-of-office mail was taken for a reply, and set off the next mail.",
        "Mail that a machine wrote is recognised, answers nothing and is answered by nothing.",
    ),
    Exhibit(
        *("claude-code-85227", "anthropics/claude-code", 85227),
        "The model could fill in the fields that are meant for the person's answer, and no one noticed.",
        "Unknown fields are refused by name, and no agent's token answers a question.",
    ),
    Exhibit(
        *("mcp-feedback-enhanced-219", "Minidoracat/mcp-feedback-enhanced", 219),
        "A local port without a password ran commands for any page that was open in the browser.",
        "Every port wants a token, and refuses other origins and other names of the machine.",
    ),
    Exhibit(
        *("browsermcp-158", "BrowserMCP/mcp", 158),
        "The server listened on every network that the machine was in.",
        "Every port listens on this machine alone unless the settings say otherwise.",
    ),
)
CONVERSATIONS: Final = (
    Exhibit(
        *("openclaw-150795", "openclaw/openclaw", 150795),
        "While a question was open, every message of the person was refused as no answer to it.",
        "Words that begin with a butler's name and reply to nothing go to that butler.",
    ),
)
