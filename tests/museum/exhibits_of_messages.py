"""The exhibits about messages: lost, repeated, late, spoilt, or carrying what they should not."""

from __future__ import annotations

from typing import Final

from tests.museum.catalogue import Exhibit

DUPLICATES: Final = (
    Exhibit(
        *("openclaw-22780", "openclaw/openclaw", 22780),
        "The library for Slack repeated a call by itself when its answer was slow, and the message stood there twice.",
        "After a doubtful call Slack is asked whether the message is there, before anything is repeated.",
    ),
    Exhibit(
        *("openclaw-83710", "openclaw/openclaw", 83710),
        "The tool said neither that it had sent nor that it had not, so the agent sent again.",
        "The same key is the same message, and its answer carries the same receipt.",
    ),
    Exhibit(
        *("telegram-bot-api-482", "tdlib/telegram-bot-api", 482),
        "A bot has no way to send a message at most once, and the second copy looks like a second message.",
        "A copy that may be a second one says so in its words, and so does its delivery.",
    ),
    Exhibit(
        *("telegram-bot-api-699", "tdlib/telegram-bot-api", 699),
        "One press of a button came as several updates with numbers of their own, and was done several times.",
        "There is one winner for each question, whatever the updates are numbered.",
    ),
    Exhibit(
        *("openclaw-33403", "openclaw/openclaw", 33403),
        "A message that the provider refuses for good was tried again at every start.",
        "A refusal for good ends a delivery after the first attempt.",
    ),
    Exhibit(
        *("openclaw-23777", "openclaw/openclaw", 23777),
        "After a restart messages were sent again that had been sent already.",
        "What was settled is settled in the ledger; a restart takes up only what is open.",
    ),
    Exhibit(
        *("novu-2569", "novuhq/novu", 2569),
        "Two events within the same second made two digests with the same content.",
        "A notice is in one digest at the most, by a unique row and not by a search.",
    ),
)
SILENCE: Final = (
    Exhibit(
        *("openclaw-91300", "openclaw/openclaw", 91300),
        "For a week messages were recorded as delivered of which not one had been sent.",
        "Delivered is said of what the provider has given a number; a refusal is an error to the sender.",
    ),
    Exhibit(
        *("openclaw-21722", "openclaw/openclaw", 21722),
        "What could not be sent at once waited for hours, because the queue was only looked at during a start.",
        "Everything that is open has a next time, and leaves then.",
    ),
    Exhibit(
        *("openclaw-27660", "openclaw/openclaw", 27660),
        "One entry that had to wait kept all those behind it from being sent.",
        "Deliveries wait for themselves alone.",
    ),
    Exhibit(
        *("openclaw-138540", "openclaw/openclaw", 138540),
        "A question never came to the chat that the person was in, only to a page that no one looked at.",
        "Without a wish for a channel a question is shown on each of the person's own.",
    ),
    Exhibit(
        *("openclaw-123915", "openclaw/openclaw", 123915),
        "The question was shown to no one, and neither the person nor the agent learned of it.",
        "The result names each place where it is not shown, with the reason.",
    ),
    Exhibit(
        *("gsd-pi-533", "open-gsd/gsd-pi", 533),
        "A question that ran out of time was read as an empty answer, and defaults were taken.",
        "An end without an answer has none, and says that it is neither a yes nor a no.",
    ),
    Exhibit(
        *("openclaw-126522", "openclaw/openclaw", 126522),
        "There was a warning about messages that had been given up, and no way to see, repeat or drop them.",
        "Dead letters are listed, replayed and discarded by tools, commands and a page.",
    ),
    Exhibit(
        *("openclaw-135191", "openclaw/openclaw", 135191),
        "When the connection came back, messages of months ago were poured out.",
        "What is not worth showing any more expires, and is counted as that.",
    ),
)
CONTENT: Final = (
    Exhibit(
        *("openclaw-67396", "openclaw/openclaw", 67396),
        "An answer longer than one message of Telegram was dropped without a word.",
        "Long texts are divided at the ends of lines and arrive whole and in order.",
    ),
    Exhibit(
        *("openclaw-75868", "openclaw/openclaw", 75868),
        "Long texts were divided, but not when they were formatted.",
        "Formatting is read first and divided with the text it belongs to.",
    ),
    Exhibit(
        *("message-pusher-88", "songquanpeng/message-pusher", 88),
        "A long formatted text was cut in the middle of its markup, and the provider refused it.",
        "The provider is given plain words and marks beside them, never markup that it could fail to read.",
    ),
    Exhibit(
        *("openclaw-31194", "openclaw/openclaw", 31194),
        "A text that fitted became too long by the escaping of its characters, and was tried for ever.",
        "Nothing is escaped, so what is counted is what is sent.",
    ),
    Exhibit(
        *("telegram-bot-api-374", "tdlib/telegram-bot-api", 374),
        "The length of a text was counted otherwise than the provider counts it.",
        "Lengths are counted in the units of the provider.",
    ),
    Exhibit(
        *("openclaw-106996", "openclaw/openclaw", 106996),
        "Buttons whose data were too long were left out, and the call was reported as a success.",
        "A button carries a short token whatever its option says.",
    ),
)
ATTENTION: Final = (
    Exhibit(
        *("pulse-921", "rcourtman/Pulse", 921),
        "A warning was repeated every minute after it had been acknowledged.",
        "What is repeated is asked of the same state that the acknowledgement changes.",
    ),
    Exhibit(
        *("pulse-1398", "rcourtman/Pulse", 1398),
        "Quiet hours were kept by messages, and not by what followed when no one answered them.",
        "One function decides about quiet for messages, repetitions and escalations.",
    ),
    Exhibit(
        *("tasks-1388", "tasks/tasks", 1388),
        "At the end of quiet hours everything that had been held came one after the other.",
        "What was held is one digest in the morning.",
    ),
    Exhibit(
        *("alertmanager-3367", "prometheus/alertmanager", 3367),
        "What fired during a mute was not sent when the mute ended, but hours later or never.",
        "What is held has the end of the quiet hours as its moment.",
    ),
    Exhibit(
        *("openclaw-128924", "openclaw/openclaw", 128924),
        "One broken route made 1,440 alarms a day.",
        "The same words of the same sender are merged for half an hour, and counted.",
    ),
    Exhibit(
        *("openclaw-42246", "openclaw/openclaw", 42246),
        "Every event was a message of its own.",
        "A calm policy shows the first at once and collects what follows.",
    ),
    Exhibit(
        *("novu-2937", "novuhq/novu", 2937),
        "A cancellation was confirmed, and the message was sent.",
        "What was withdrawn is never shown; what was shown before is taken back where it stands.",
    ),
    Exhibit(
        *("novu-5050", "novuhq/novu", 5050),
        "What was made after its cancellation was sent all the same.",
        "A withdrawal by key is remembered, and holds for what comes later under that key.",
    ),
    Exhibit(
        *("grafana-87007", "grafana/grafana", 87007),
        "That an alarm was over was never sent because it was over during a mute.",
        "News under the same key wait for the end of the quiet hours, and then take the place of the alarm.",
    ),
)
LEAKED_FILES: Final = (
    Exhibit(
        *("hermes-35584", "NousResearch/hermes-agent", 35584),
        "A warning that named the file with the keys made the gateway attach that file.",
        "A path in a text is text; files go only where they are named as attachments.",
    ),
    Exhibit(
        *("hermes-50912", "NousResearch/hermes-agent", 50912),
        "A list of four forbidden files forgot the fifth, which was new each time and therefore trusted.",
        "There is no list of what is forbidden: only what lies in a folder meant for it can go.",
    ),
    Exhibit(
        *("hermes-30432", "NousResearch/hermes-agent", 30432),
        "Any path that the model wrote was delivered, also by way of a link in a folder that was allowed.",
        "Links are followed before it is judged where a file lies.",
    ),
    Exhibit(
        *("hermes-34270", "NousResearch/hermes-agent", 34270),
        "The check stood before the answer of the agent, and not before its tool for sending.",
        "There is one way out, and the check stands on it.",
    ),
    Exhibit(
        *("hermes-8733", "NousResearch/hermes-agent", 8733),
        "A path spelled as a file URL passed by the check.",
        "What is no file in the outbox is refused, however it is spelled.",
    ),
    Exhibit(
        *("hermes-78932", "NousResearch/hermes-agent", 78932),
        "A file that was refused was left out in silence, and the agent confirmed that it had been sent.",
        "A message with a file that may not go is refused as a whole, by the name of the field.",
    ),
)
