"""Every requirement of the five specifications, and promises beyond them, each with an id that tests name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.desk import requirements_popup
from tests.requirements_connect import CONNECT
from tests.requirements_side import SIDE

ENFORCE_COMPLETE = True  # True: a full run fails while an id has no test


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """`requirement` is the heading in the specification, `scenario` one sentence on what must be seen."""

    id: str
    spec: str
    requirement: str
    scenario: str


Sections = Mapping[str, Mapping[str, str]]

NOTIFY: Sections = {
    "Notify Tool Registration": {
        "notify-tool-registration": "The tool takes channel, message, recipient, subject, intent, emoji and "
        "request_context and sends notify.v1 through the switchboard's deliver.",
        "notify-tool-is-a-core-tool": "After startup every butler's MCP server lists notify, which is one of "
        "CORE_TOOL_NAMES.",
    },
    "notify.v1 Envelope Schema": {
        "notify-v1-envelope-schema": "An envelope holds schema_version notify.v1, origin_butler, delivery and an "
        "optional request_context.",
        "send-intent-envelope": "A telegram send of Hello becomes an envelope with that intent, channel and message "
        "and the calling butler as origin.",
    },
    "Delivery Intent Validation": {
        "delivery-intent-validation": "send, reply and react are the supported intents, each with its own required "
        "fields.",
        "send-intent": "A send needs a non-empty message and no request_context.",
        "reply-intent-requires-request-context": "A reply needs a message and the four context fields, and on telegram "
        "the thread too.",
        "react-intent-requires-emoji-and-thread-identity": "A reaction needs an emoji and the thread, and no message.",
        "missing-message-for-send-reply": 'Without a message, send answers status error with "Missing required '
        "'message' parameter\".",
        "unsupported-intent": "Any other intent gets an error response.",
    },
    "Channel Validation": {
        "channel-validation": "Only telegram and email exist, and any other channel is refused at once.",
        "supported-channel": "telegram and email go on to the envelope.",
        "unsupported-channel": "sms answers status error with \"Unsupported channel 'sms'\".",
    },
    "Request Context Propagation": {
        "request-context-propagation": "A reply or reaction carries the lineage of the inbound request to the right "
        "conversation.",
        "request-context-forwarded-to-envelope": "A valid request_context stands in the envelope unchanged.",
        "request-context-from-runtime-session": "A notify inside a routed session can carry that session's "
        "request_context.",
    },
    "NotifyRequestContextInput Schema": {
        "notifyrequestcontextinput-schema": "A request_context has four required fields, and source_thread_identity "
        "and received_at as optional ones.",
        "valid-request-context": "With all required fields the tool goes on to the envelope.",
        "missing-required-context-field-for-reply": "A reply whose context lacks request_id gets a validation error.",
    },
    "Messenger Routing via Switchboard": {
        "messenger-routing-via-switchboard": "notify.v1 travels inside route.v1, and route_response.v1 brings "
        "notify_response.v1 back.",
        "notify-routed-through-switchboard": "notify goes from the butler through the switchboard's MCP to the "
        "messenger.",
    },
    "Notify Response Envelope": {
        "notify-response-envelope": "Answers are notify_response.v1, ok with delivery data or error with a canonical "
        "class.",
        "successful-delivery-response": "A delivered message answers status ok with delivery.channel and "
        "delivery.delivery_id.",
        "failed-delivery-response": "A failed delivery answers status error with error.class and error.message.",
    },
    "Origin Butler Identity": {
        "origin-butler-identity": "Every envelope carries origin_butler, set from the daemon and never by the caller.",
        "origin-butler-set-automatically": "What the health butler sends has origin_butler health.",
    },
    "Idempotency and Replay Tolerance": {
        "idempotency-and-replay-tolerance": "A routed request that arrives twice with the same lineage does no harm.",
        "duplicate-notify-tolerated": "The same envelope with the same request_id twice is delivered once.",
    },
}

MESSENGER: Sections = {
    "Messenger Butler Identity and Runtime": {
        "messenger-butler-identity-and-runtime": "The messenger executes deliveries and holds no domain logic.",
        "identity-and-port": "It serves port 40104 under its description, with codex, 3 sessions at most, and schema "
        "messenger in database butlers.",
        "module-profile": "It loads calendar (Google, suggest), telegram and email (bot only) with credentials from "
        "the three variables.",
    },
    "Messenger Channel Ownership": {
        "messenger-channel-ownership": "All tools that reach people are the messenger's, and no other butler may call "
        "one.",
        "channel-tool-surface": "A delivery leaves through the messenger's own telegram and email tools, which refuse "
        "everyone else.",
        "delivery-validation-and-lineage": "The envelope is validated, target and intent resolved, lineage kept, the "
        "answer deterministic, and notify never called again.",
    },
    "Approval-Gated Delivery": {
        "approval-gated-delivery": "Sensitive delivery tools run only after approval.",
        "gated-tools": "With approvals on, telegram_send_message, email_send_message and notify wait for a person.",
    },
    "Idempotent Delivery Requests": {
        "idempotent-delivery-requests": "Equal requests have equal keys, and a key is delivered once.",
        "key-derivation": "The key comes from request, origin, intent, channel, target and the content's SHA-256, "
        "normalised before hashing.",
        "duplicate-detection": "A known key answers with the existing delivery's status and creates nothing.",
        "replay-lineage": "A replay's key is the original's with ::replay-N, and the replay count grows.",
    },
    "Rate Limiting": {
        "rate-limiting": "Three tiers decide on admission.",
        "global-admission-control": "Above 60 per minute or 100 in flight a request is overload_rejected with "
        "retry_after_seconds.",
        "channel-level-limits": "Each channel and identity has its own limit, and a reply costs half a token.",
        "per-recipient-anti-flood": "The eleventh message in a minute to one recipient is overload_rejected with a "
        "retry hint.",
        "provider-throttle-passthrough": "After a provider's 429 the channel refuses until the wait is over.",
    },
    "Circuit Breaker": {
        "circuit-breaker": "Each channel has a breaker of its own.",
        "closed-to-open-transition": "The fifth consecutive failure opens the circuit, deliveries get "
        "CircuitOpenError, and validation errors do not count.",
        "recovery-via-half-open": "After 60 s a few probes go through, two successes close the circuit and a failure "
        "opens it again.",
        "circuit-status-visibility": "messenger_circuit_status shows state, consecutive failures, trip reason and "
        "recovery settings per channel.",
    },
    "Retry with Exponential Backoff": {
        "retry-with-exponential-backoff": "Failed attempts are tried again, later each time.",
        "retry-policy": "Three attempts at most, base * 2^(retry - 1) with jitter 0.3, never above 60 s.",
        "non-retryable-errors": "validation_error and internal_error are final at once.",
        "per-channel-timeouts": "An attempt may take 15 s on telegram, 45 s by email and 30 s elsewhere.",
    },
    "Dead Letter Management": {
        "dead-letter-management": "A delivery that used up its attempts is kept for an operator.",
        "dead-letter-listing": "The list is newest first, in pages, with reason, class, attempts and eligibility, and "
        "filters by channel, origin and class.",
        "dead-letter-inspection": "One dead letter shows its envelope, every attempt and whether it can be replayed.",
        "dead-letter-replay": "A replay makes a pending delivery in the key's lineage, for eligible dead letters only.",
        "dead-letter-discard": "A discarded dead letter keeps its reason, cannot be replayed and leaves the default "
        "list.",
    },
    "Delivery Tracking and Tracing": {
        "delivery-tracking-and-tracing": "The whole life of a delivery can be looked up.",
        "delivery-status-lookup": "A delivery id gives status, timestamps, the latest attempt and the provider's id.",
        "delivery-search": "Search answers pages of summaries by origin, channel, intent, status and time range.",
        "attempt-log": "A delivery id gives all attempts in order with latency, outcome, class and provider response.",
        "end-to-end-trace": "A request id gives every delivery it led to, with attempts and receipts.",
    },
    "Operational Health Monitoring": {
        "operational-health-monitoring": "Tools show whether the pipeline is well without touching it.",
        "envelope-validation": "messenger_validate_notify lists field errors and changes nothing.",
        "dry-run": "messenger_dry_run validates, resolves, looks at headroom and says whether it would be admitted, "
        "and changes nothing.",
        "queue-depth-monitoring": "messenger_queue_depth counts pending and in_progress by status, and by channel on "
        "request.",
        "delivery-statistics": "messenger_delivery_stats gives rates, counts and latencies over a window, grouped on "
        "request.",
    },
    "Messenger Has No Schedules or Skills": {
        "messenger-has-no-schedules-or-skills": "The messenger does nothing on its own account.",
        "no-scheduled-tasks": "It has no schedule entries and runs no cron tasks.",
        "no-custom-skills": "It has no skills directory.",
    },
}

INBOX: Sections = {
    "Tool": {
        "tool-name": "The tool is called send_notification.",
        "tool-description": "An agent sees the description that the specification gives.",
    },
    "Parameters": {
        "parameter-message": "message is a required string of 1 to 500 characters.",
        "parameter-type": "type is an optional string, info unless given.",
    },
    "Context": {
        "context-user-id": "The notification belongs to the context's user_id.",
        "context-conversation-id": "The context's conversation_id is kept as the source.",
        "context-correlation-id": "The context's correlation_id is in the log.",
    },
    "Response Format": {
        "response-success": "Success answers notification_created with a shortened preview, the id and the type.",
        "response-validation-error": 'A bad message answers validation_error with "Message must be between 1 and 500 '
        'characters".',
        "response-rate-limited": 'Above the cap the answer is rate_limited with "Notification rate limit exceeded. Try '
        'again later."',
        "response-system-error": 'A failure answers error with "Failed to create notification" and no internals.',
    },
    "Validation Rules": {
        "validation-message-length": "An empty message and one of 501 characters are refused.",
        "validation-type": "A type other than reminder, info and warning is refused.",
        "validation-user-id": "Without a user_id in the context the call is refused.",
        "validation-rate-limit": "Each user has an hourly cap that can be set and is held in Redis.",
    },
    "Side Effects": {
        "side-effect-row": "A notification becomes a row in the notifications table.",
        "side-effect-email": "With email on and outside quiet hours an email goes out without the caller waiting.",
        "side-effect-deferred-email": "With email on and inside quiet hours a deferred email is stored.",
        "side-effect-log": "The creation is logged with its correlation_id.",
    },
}

INTENT: Sections = {
    "Adapter Endpoints": {
        "chatgpt-endpoint": "The ChatGPT adapter serves POST /v1/adapt.",
        "gemini-endpoint": "The Gemini adapter serves POST /v1/adapt.",
    },
    "Canonical Fields": {
        "version": "The envelope's version is v1.",
        "intent-type": "intent_type is intent.ask.v1 or intent.reply.v1.",
        "intent-id": "intent_id is a UUID.",
        "correlation-id": "correlation_id is a UUID.",
        "created-at": "created_at is an RFC 3339 timestamp.",
        "from-agent-to-agent": "from_agent and to_agent are set.",
        "payload": "payload follows the schema of its intent.",
        "idempotency-key": "idempotency_key is carried when given.",
        "metadata-input-mode": "metadata.input_mode is text or voice.",
    },
    "Input Mapping: ChatGPT": {
        "chatgpt-requester-agent": "requester_agent becomes from_agent.",
        "chatgpt-target-agent": "target_agent becomes to_agent directly.",
        "chatgpt-recipient-name": "recipient_name becomes to_agent by way of /contacts/resolve.",
        "chatgpt-fuzzy-alias-matching": "A mistyped name in any language is matched.",
        "chatgpt-confirm-send": "confirm_send true counts as the person's confirmation and is remembered.",
        "chatgpt-resolve-only": "resolve_only true answers the resolution and sends nothing.",
        "chatgpt-intent-name": "intent_name becomes intent_type.",
        "chatgpt-payload": "payload becomes payload.",
        "chatgpt-message": "message becomes payload.question of an ask and payload.answer of a reply.",
        "chatgpt-workflow": "The three workflow fields become payload.workflow.",
        "chatgpt-input-mode": "input_mode becomes metadata.input_mode.",
    },
    "Input Mapping: Gemini": {
        "gemini-sender-agent": "sender_agent becomes from_agent.",
        "gemini-recipient-agent": "recipient_agent becomes to_agent directly.",
        "gemini-recipient-name": "recipient_name becomes to_agent by way of /contacts/resolve.",
        "gemini-fuzzy-alias-matching": "A mistyped name in any language is matched.",
        "gemini-confirm-send": "confirm_send true counts as the person's confirmation and is remembered.",
        "gemini-resolve-only": "resolve_only true answers the resolution and sends nothing.",
        "gemini-intent": "intent becomes intent_type.",
        "gemini-data": "data becomes payload.",
        "gemini-message": "message becomes payload.question of an ask and payload.answer of a reply.",
        "gemini-workflow": "The three workflow fields become payload.workflow.",
        "gemini-input-mode": "input_mode becomes metadata.input_mode.",
    },
    "Validation": {
        "validation-envelope": "The envelope is checked against intent.envelope.v1.json.",
        "validation-ask-payload": "The payload of an ask is checked against intent.ask.v1.json.",
        "validation-reply-payload": "The payload of a reply is checked against intent.reply.v1.json.",
    },
    "Decision Contract": {
        "decision-shape": "Answers carry ok, decision_mode and resolution with resolved, matched_alias and match_type.",
        "decision-sent": "decision_mode is sent when the intent went out.",
        "decision-resolved": "decision_mode is resolved when only resolution was asked for and succeeded.",
        "decision-needs-confirmation": "decision_mode is needs_confirmation when one uncertain match was found.",
        "decision-needs-disambiguation": "decision_mode is needs_disambiguation when several people match.",
        "decision-contact-not-found": "decision_mode is contact_not_found when nobody matches.",
        "match-types": "match_type is memory, exact, fuzzy, smart_fuzzy or explicit, as the match was made.",
        "normalized-errors": "Bad input, schema errors and network failures answer ok false in one shape.",
    },
    "Confirmation Memory": {
        "confirmation-persisted": "A confirmed choice is stored through POST /contacts/confirm.",
        "confirmation-remembered": "The next resolve of that owner and query answers match_type memory and can send "
        "directly.",
    },
    "Optional Delivery Receipt": {
        "delivery-receipt": "A submitted intent answers delivery with submitted, via gateway, intent_id, status and "
        "created_at.",
        "delivery-receipt-status": "The receipt's status is accepted, running, done or failed.",
    },
    "Two-Phase Confirmation Pattern": {
        "two-phase-confirmation": "Resolve only, let the person choose among the candidates, then send to the one "
        "chosen.",
    },
}


# Promises beyond the specifications that hold already; each step of the next version adds its own.
HOUSE: Sections = {
    "The house": {
        "one-loop": "A failure in any round of any background loop ends none of them.",
        "one-table-of-columns": "A new column of a delivery touches the table, the domain and a migration only.",
        "one-message": "A message passes the files that CONTRIBUTING lists, in that order.",
        "inside-as-over-a-wire": "A part of the same process is asked under the same token and rule as over a wire.",
        "same-path": "What an adapter at home sends passes the switchboard and no port of ours.",
        "public-paths": "Paths that other programs import stay importable.",
    },
    "Tokens have kinds": {
        "program-decides-nothing": "A program's token writes to its person's inbox and calls no other tool.",
        "several-tokens": "A caller may have several tokens; revoking one leaves the others.",
        "asker-never-answers": "A caller that asked does not answer, and responded_by is who acted.",
        "only-people-approve": "Only a person can be an approver.",
    },
    "One person": {
        "people-over-http": "The owner writes, reads, changes and removes people, and sees what was sent to them.",
        "people-refused-by-field": "A wrong field of a person is named as it was written, and nothing is stored.",
        "people-are-the-owners": "A person reads themselves and changes zone and language; no program lists people.",
        "proof-stays-with-the-address": "An address that stays keeps its proof, and is refused for another person.",
        "people-commands": "postroom people adds, shows, edits, removes, imports and lists, here and elsewhere.",
        "tokens-of-known-people": "A person's token is for a person of the household, who is written down if need be.",
        "people-of-the-file-overruled": "doctor names the people of the settings file whom the database overrules.",
        "people-in-the-console": "The console shows and edits everybody's addresses on any channel, the owner's too.",
        "one-record": "A person has one record with addresses on any channel, and the owner is one of them.",
        "one-owner": "There is one owner, who cannot be removed; no change gives or takes that role.",
        "file-until-changed": "The settings seed people until one is changed or removed in the database, which wins.",
        "owner-anywhere": "The owner is reached, trusted and asked on any channel that is set up.",
        "approver-role": "A person with the role of an approver decides like one whom the settings name.",
        "owners-inbox": "Copies for the operator's inbox go to the owner's proved address when no other is named.",
        "one-folding": "Trust, limits, idempotency and matching fold addresses alike, and only ASCII letters.",
    },
    "A plain door for scripts": {
        "notify-over-http": "POST /v1/notify answers as notify does, under an Idempotency-Key.",
        "notify-status": "A butler asks for its own deliveries and finds no other.",
        "idempotency-everywhere": "Every POST that makes something is decided upon and says so in its document.",
    },
    "Channels": {
        "channel-declares": "A shipped channel carries exactly what it declares.",
        "channels-table": "What README says each kind of channel can do is what the kind declares.",
        "channel-asked-by-capability": "Outside the channels and the sandbox nothing asks for a channel by name.",
        "channel-kinds": "Kinds of channels are found by entry point, another package's too; none takes our names.",
        "channel-settings-win": "A household's own timeouts, pauses and limits win over what a channel asks for.",
        "channel-first-version": "A channel of one's own that declares nothing goes on as it did.",
        "channel-suite": "Every channel passes the suite that authors of channels install.",
        "channel-suite-bites": "Each deliberately broken channel fails the suite at what is broken, and nowhere else.",
        "channel-suite-installed": "python -m postroom.testing proves a channel from a wheel, and reports.",
        "channels-listed": "GET /v1/channels and postroom channels list each account with capabilities and health.",
        "webhook-standard": "A webhook is signed as standardwebhooks.com says, with one id and body for all attempts.",
        "webhook-answers": "Each answer to a webhook has one meaning, and no redirect is followed.",
        "private-addresses": "Webhooks and Apprise reach private addresses only with allow_private, judged at connect.",
        "apprise-evidence": "Apprise gives no receipt; its failures are uncertain, unless it connected to nothing.",
        "apprise-urls": "An Apprise URL is one service without local effects, files, chains or retries of its own.",
        "apprise-secrets": "Nothing of an Apprise URL or message is in a log, an error or a repr.",
    },
    "Channels grow hands": {
        "buttons-are-the-households-own": "Buttons and revisions travel between the household's own parts; an agent "
        "can neither set nor read them.",
        "a-revision-is-a-delivery": "A revision edits a delivered message of the same sender, once, is made again when "
        "in doubt and is never marked as repeated.",
        "telegram-buttons": "Buttons with opaque tokens stand under the last part of a message.",
        "telegram-edits": "An edit that changes nothing has succeeded, one of a message that is gone has failed for "
        "good, and every part of a long card is closed.",
        "telegram-presses-are-answered": "A press is answered at once, and an answer that fails does no harm.",
        "email-links": "A mail shows buttons as links, says that a machine wrote it, and cannot be edited.",
    },
    "Slack": {
        "slack-text-is-data": "What a model writes is shown as it stands: no mention, markup or preview comes of it.",
        "slack-found-again": "A message whose answer was lost is found by a mark only we can make, or surely absent.",
        "slack-refusals": "Each refusal of Slack has its own sentence and the right class, although in a 200.",
        "slack-acknowledged-after-handling": "What people do is acknowledged once it was handled, and given again "
        "until then, over broken and renewed connections and restarts.",
        "slack-presses": "A press says who pressed, where and what, and is answered to that person alone.",
    },
    "ntfy": {
        "ntfy-one-name": "The same part of a delivery has the same sequence id, so a second copy replaces the first.",
        "ntfy-certain-after-a-cut": "After a cut the topic is read back; only a server that would have kept the "
        "message may say that it is not there.",
        "ntfy-daily-quota": "A daily quota is waited for until midnight UTC, other limits for seconds.",
        "ntfy-buttons-answer": "A press is posted by the telephone to a second topic, counts once, for the topic its "
        "card went to, and is no surer than a link.",
    },
    "Discord": {
        "discord-text": "A text is shown exactly, pings no one and loses nothing visible when it is divided.",
        "discord-key": "Every attempt at a part carries the same nonce, so that a resend makes no second message.",
        "discord-refusals": "Each refusal has its own sentence and class; slow mode is a wait, whatever its status.",
        "discord-direct": "A direct message goes to the person's own channel there, and is edited in that channel.",
        "discord-presses": "A press is answered within three seconds, for the eyes of the one who pressed alone.",
        "discord-gateway": "A cut connection is taken up again without losing or repeating what people did.",
    },
    "Sandbox, the person's side": {
        "sandbox-press": "A button is pressed by its label or its data, by any member of a chat.",
        "sandbox-presses-expire": "A press waits 150 seconds for the bot, a text a day.",
        "sandbox-inbound": "A text comes from any person, bot, channel or other message, with ids as numbers or text.",
        "sandbox-like-telegram": "Edits, answers, kinds of updates and a second reader meet Telegram's own rules.",
        "sandbox-is-bounded": "The sandbox keeps a bounded number of messages of each chat.",
        "sandbox-mail": "The person answers a mail, and the answer is kept with its headers.",
        "sandbox-phone": "The sandbox's page is a live phone: buttons, edits, answers, reactions, pictures, replies.",
    },
}


ASK: Sections = {
    "The engine": {
        "limits": "Everything that is wrong with a call of ask is said at once, by field, and nothing is stored.",
        "idempotent": "The same key finds the same question; another question under it is refused with the first.",
        "joining": "Without a key an equal question that is open, or ended just now and not collected, is joined.",
        "states": "A question ends once: code, database and drawing share one table of moves.",
        "one-winner": "Of all attempts on all channels one is accepted; the others are kept with their verdicts.",
        "who-may-answer": "Only a verified person who was asked answers; forwarded, bots and anonymous never do.",
        "clocks-differ": "A clock that is off loses no answer: what answers a card counts, whatever the time it bears.",
        "approve-exactly": "Approving takes the button or the exact word on the card, never ok or a thumb.",
        "sent-in-time": "A text that was sent before the deadline counts; nothing expires before inbound is read.",
        "default": "A default is a legal answer, approvals default to deny only, and it is said that no person acted.",
        "old-buttons-die": "What is pressed under an old wording does not count.",
        "secrets": "A secret is answered at the desk or in the console, sealed at rest and wiped once it was had.",
        "answers-since": "An asker that was away reads every end since its cursor, in the order of commits.",
        "shown-once": "Two processes never show or close the same card at once, and a lost one is taken up.",
        "addressed": "Names become people when it is asked; unknown and ambiguous ones are refused with near names.",
        "not-shown": "A person who cannot be reached is said so, with the reason, at once or within 30 seconds.",
        "waiting": "A waiter is woken by the commit; a wait that is cancelled touches nothing.",
        "own-questions": "Agents see their questions, people those that ask them; those of others are not found.",
        "card": "A card has the question as plain text and the options' labels as buttons, or a link without buttons.",
        "card-rest": "A choice shows its answers and one small button, which opens the rest there and decides nothing.",
        "card-follows": "A card is shown, held up, failed or doubtful as its delivery is, and never sent twice.",
        "closed-everywhere": "When a question ends, every card is edited to one line that says who answered what.",
        "revised-in-place": "A new wording is edited into the card.",
        "ticks": "Ticks of a multiple choice are kept in the store and drawn by an edit.",
        "own-words": "Words answer as a reply to the card or as the next message after Other; the rest go to a butler.",
        "one-channel-at-a-time": "A person is asked on the first channel, on the next when nobody answers or it fails.",
        "after-a-gap": "After two minutes without listening open cards say so, once for each gap.",
        "reminded-once": "A reminder is one new message that answers the card; escalation adds people.",
        "resumed-once": "A question with resume starts one session of its butler, with the answer as data.",
        "news": "Subscribers for the asker and for those asked are told of each event once, by webhook.",
        "links": "A link names one card of one person; opening it decides nothing, and it dies with the wording.",
        "gap": "After a time in which presses were lost, also by a process that died at once, open cards are repaired.",
        "unnumbered": "A reply to a card whose number died with its process is heard, as a press on it is.",
        "one-shape": "Every door tells a question in one shape, with a sentence that says what to do next.",
    },
    "The console": {
        "console-page": "Each question has a page for the signed-in person, who sees how it ended and by whom.",
        "console-one-tap": "One press decides, without script and on a phone, with the assurance of being signed in.",
        "console-form": "A form is filled in with a field for each kind of value.",
        "console-secret": "A secret is typed unseen in the console and shown on no page.",
        "console-in-place": "What waits for a person stands on Today and in the inbox, and is answered there.",
        "console-counts": "Every figure of questions is the one the doors tell.",
        "console-own": "A person sees what asks them; the owner and the operator see all.",
        "console-why": "Each question says where it was shown, where not and why, and who answered in vain.",
        "console-exact": "The words of models are data on every page, and characters that hide are named.",
    },
    "The command line": {
        "command-line": "The shell asks, waits and answers: the answer alone on standard output, the end as code.",
        "command-line-patience": "Waiting outlives a household that restarts, and Ctrl-C ends the waiting alone.",
    },
    "The doors": {
        "tools": "Every butler has ask, wait and cancel_ask, and the assistants' port answers as well.",
        "progress": "While a call waits, progress arrives; tools that do not wait answer as JSON, as before.",
        "client-gone": "A client that goes away ends its wait, and never the question.",
        "tasks": "A client that knows tasks has its question as one: durable, polled, cancelled, over a crash, too.",
        "tasks-own": "Only the caller that asked sees a task; to all others it is unknown.",
        "client-forms": "A person's client shows a question as a form beside its cards; no agent's does, and closing "
        "a form is no answer.",
        "who-asks": "The asker is the token's principal; the questions of others do not exist for it.",
        "rest": "Questions are asked, read, waited for, changed and listed over HTTP, under a key at most once.",
        "rest-answer": "Over HTTP a person's own token answers, once; others are refused, the late see how it ended.",
        "stream": "Events of questions arrive as they are committed, and from where an earlier stream stopped.",
        "links-decide-nothing": "Opening a link, however and how often, decides nothing; its form does, once.",
        "links-two-steps": "An approval by link takes a choice and a confirmation of that very choice.",
        "links-die": "A link names one card of one person, is kept as a hash, and dies with question and wording.",
    },
    "The desk is a presentation": {
        "desk-shows-and-answers": "Every kind of open question to its person is a popup at the desk, answered there.",
        "desk-takes-secrets": "A secret is typed hidden at the desk, and the desk keeps it nowhere.",
        "desk-closing-is-no-answer": "To close the popup answers nothing; Rather not declines.",
        "desk-closes-when-answered-elsewhere": "A popup of a question that ended elsewhere closes at once.",
        "desk-replaced-loses-nothing": "A popup that another one replaced comes back, and takes no call's place.",
        "desk-waits-for-household": "A household that is away is asked again with growing pauses, and then shown.",
    },
    "Approvals are questions": {
        "approval-card": "A parked message is asked about on a card with Send, Don't send and Open, without its words.",
        "approval-by-press": "A press decides as the console does, in one transaction with the end of the question.",
        "approval-tried": "A decision in the console or by a tool is kept with the question, also when it lost.",
        "approval-elsewhere": "A decision in the console, by a tool or by expiry ends the question and the card.",
        "approval-risk": "Above approvals.phone the card leads to the console, and nothing else decides.",
        "approval-who": "Only the owner and approvers decide, and only by the button or the exact words.",
    },
    "What is asked in an agent's name": {
        "intent-approvals": "What only a person may approve comes with Approve and Deny, and has one end for all.",
        "intent-reminders": "Who has the card of an intent is reminded by a reply to it; others by letter.",
        "intent-deciders": "By reply only a proved address approves; of others the words are kept, and they hear why.",
        "intent-questions": "An intent asks people who have proved who they are by a question, with one answer.",
        "butler-wakes": "A question with resume starts one session with the answer as data, however late.",
        "question-retention": "The words of a question go 30 days after its end, and with a person who is removed.",
    },
}

MAIL: Sections = {
    "Mail that listens": {
        "heard": "A reply by mail is heard with who wrote it, their own words, and the message it answers.",
        "heard-at-once": "A mail is heard when the server announces it, and at the latest by the next sweep.",
        "untouched": "The mailbox is only looked at: nothing is marked as read, moved or deleted.",
        "once": "A mail that comes again, after a crash or under another number, is the same event.",
        "numbered-anew": "A mailbox with another UIDVALIDITY is heard on, and nothing is answered a second time.",
        "reconnects": "A server that goes away is said so, and heard again when it is back; nothing is lost.",
        "login-refused": "A login that is refused has a sentence of its own, and is tried with growing pauses.",
        "bounce": "A mail that comes back is news of that very delivery, with the status and its meaning.",
        "own-words": "Quoted text, signatures and what programs add are no part of the answer.",
        "proved-sender": "Only the results of our own receiver, in the topmost header, prove who wrote.",
        "automatic": "Absence notes, lists, reports, forwarded mails and our own are never answers.",
        "hostile": "However a mail is made, reading it takes bounded time and memory and raises nothing.",
        "answers-questions": "A reply to the mail that asked answers the question, once, on either database.",
        "unproved-reply": "A reply whose sender is not proved answers nothing, and the person is told of the link.",
        "sandbox-imap": "What people write in the sandbox is read over IMAP as from a real server.",
        "original-kept": "What a person wrote back is kept with its quotes, and shown with the message it answers.",
        "deaf-said": "What keeps a mailbox from being read is one sentence in doctor, Health and channels.",
    },
    "Mail that comes back": {
        "bounce-closes": "A bounce for good closes the address: later messages are refused by name, with the reason.",
        "bounce-told": "Whoever sent it hears of it: in its status, by webhook, in why, people, Health and doctor.",
        "bounce-for-now": "A full mailbox, a delay or a rule of the server is noted, and closes nothing.",
        "reopened": "Proof, a proved mail from there, writing it down anew or --reopen opens an address again.",
        "informal-bounce": "Bounces from before RFC 3464 and of relays that rename mails are known as well.",
        "bounce-believed": "A report counts only with the mail's mark, which no sender is told, and its recipient.",
        "verified-stays": "An address that a person has proved is never closed: it is doubtful, and said so.",
        "reply-tags": "With reply_tags every mail is answered to box+delivery@, which outlives a renamed Message-ID.",
        "answers-intents": "A reply to the mail of an intent answers the intent.",
        "oauth2": "With XOAUTH2 mail is sent and read by tokens that are renewed in time, and when one is refused.",
        "oauth2-refused": "Access that is not renewed any more is one sentence that says what to do.",
        "login-mail": "login-mail lets a person grant access by code or page; it is kept sealed, and never shown.",
        "copies-dropped": "The delivery's id is Resend's and EmailEngine's idempotency key.",
    },
}


def _listed(prefix: str, spec: str, sections: Sections) -> list[Requirement]:
    return [
        Requirement(id=f"{prefix}:{slug}", spec=spec, requirement=heading, scenario=sentence)
        for heading, scenarios in sections.items()
        for slug, sentence in scenarios.items()
    ]


CHANNELS: Sections = {
    "Pairing": {
        "pairing-code": "A code of 8 characters is good once, for an hour, at most 3 are open; its sender is bound.",
        "pairing-guesses": "After ten wrong codes from one sender no code helps that sender for an hour.",
        "pairing-who": "Groups, forwarded words, bots and anonymous admins never pair; strangers learn nothing.",
        "pairing-taken": "An address that another person has proved stays theirs, and the code stays unused.",
        "pairing-link": "Where no sender is proved a link is sent, which a look leaves alone and a POST confirms.",
        "pairing-doors": "The owner starts it for any person and a person for themselves; a model never.",
        "pairing-doctor": "doctor names those without a verified address and says how to pair.",
        "here": "A person sends /here from a verified address, and that one is tried first.",
        "addresses-in-settings": "The settings name addresses on any channel; for the owner's the operator vouches.",
    },
    "Certain outcomes": {
        "ask-first": "After a doubtful call the provider is asked before anything is sent again: what is there is "
        "delivered, what is not is sent, neither is marked.",
        "same-key-in-time": "Within the time in which a provider drops copies the same call is made again unmarked; "
        "later, where nobody can say, a copy is marked.",
        "hold-only-in-doubt": "A delivery that is to be held is held only where no answer can be had.",
        "last-look": "With every attempt used up and in doubt, one last look is made, and the dead letter says what "
        "is known.",
        "parts-one-by-one": "Each part of a message is asked about on its own, and keeps the provider's name for it.",
        "never-two-copies": "Whatever fails, a provider that can be asked or drops copies shows one, or it is marked.",
        "where-it-stands": "An edit names the conversation in which the provider keeps the message.",
        "replay-asks": "A dead letter in doubt goes out again under its own key, and is asked about first.",
        "asking-is-told": "why, trace and the console tell that the provider was asked and what it said.",
    },
    "Late news": {
        "late-news": "News about a delivered message is kept once, changes no status and is shown with it.",
        "late-news-of-ours": "News counts only for a delivery on the channel and at the place it came from.",
    },
    "Accounts": {
        "one-list": "Accounts have names of their own, several of one kind, in one order in which they are tried.",
        "secrets-by-variable": "An option may name variables; one that is not set is named with its key.",
        "account-errors": "A misspelt kind or key is refused with the nearest name, and nothing secret is shown.",
        "old-sections": "[telegram], [email] and BUTLER_* are the accounts telegram and email, and never doubled.",
        "numbers-by-account": "Timeouts and pauses go by kind, limits by the name of the account.",
        "sandbox-accounts": "In the sandbox accounts of the kinds it plays are made against it; others cannot be used.",
        "answers-topic": "An account of ntfy without a topic for answers has one that cannot be guessed and stays.",
        "two-of-a-kind": "Two accounts of one kind send, hear and answer separately.",
        "press-of-its-account": "A press counts only on the account its card was sent from.",
        "auto": "The channel auto is the first that is set up in the person's own order, and the answer names it.",
        "buttons-that-fit": "A card with more buttons than its channel shows is a numbered list and a link.",
        "doctor-accounts": "doctor probes each account and has one line for each, in the words of its error.",
    },
}


CONTENT: Sections = {
    "Formatted text": {
        "plain-exact": "Without a format a message is plain and sent to the byte as it always was.",
        "parsed-once": "Markdown is read into text and spans; markup is not seen, and everything else is.",
        "format-carried": "The format goes with the message to every attempt; the same words in another are another.",
        "nothing-lost": "On no channel is a visible character lost, and every part is within the provider's limits.",
        "no-injection": "No text becomes a tag, a mention or a link that was not written as one to an allowed place.",
        "telegram-entities": "Telegram gets text and valid entities, never parse_mode; a span that is cut goes on.",
        "email-html": "A mail has the text first and the same as HTML, which loads nothing.",
        "readable-elsewhere": "A channel that shows no Markdown gets text that reads well and names its links.",
        "links-in-approvals": "Who decides sees the text, how it will look and where each link leads; a label that "
        "names another host is a high risk.",
        "format-refused": "An unknown format and Markdown that is too long are refused by name; nothing is stored.",
        "slack-formatted": "Slack gets rich_text, in which text is only text, and an escaped text for notifications; "
        "edits keep the format.",
        "console-formatted": "The console shows Markdown as it looks, links apart with their target, the source beside "
        "it; nothing is loaded.",
        "questions-formatted": "A question may be Markdown; cards, pages and the desk each show it in their way, and "
        "without a format it is plain.",
        "sandbox-formatted": "The sandbox shows what a person would see: bold, code, and links with their host.",
        "reminders-formatted": "A reminder keeps its format until it is sent.",
        "bounded-parsing": "Markdown with more signs than can be read in a moment is shown as it was written.",
    },
    "Files on the channels": {
        "files-refused-first": "Too many, too large or empty files are refused by name before anything is sent.",
        "files-same-bytes": "A second try sends the same bytes under the same name, and marks what may be repeated.",
        "files-no-doubt": "A file that cannot be read, or was not brought whole, leaves no doubt: nothing was sent.",
        "telegram-files": "Telegram gets pictures as photos and others as documents; a short text is the caption.",
        "email-files": "A mail carries its files beside its text, under any name, in one mail with one outcome.",
        "slack-files": "Slack gets the bytes first; only the call that publishes them decides the outcome.",
        "discord-files": "Discord gets the files with the last part of the text, under the same nonce.",
        "ntfy-files": "ntfy gets each file as a notification of its own that can be found again.",
        "webhook-files": "A webhook gets small files in the signed event, with their hashes.",
        "sandbox-files": "The sandbox takes files by phone and mail, lists and shows them, and its faults spoil them.",
        "suite-files": "The channel suite finds a channel that loses, changes, repeats or renames a file.",
    },
    "Corrections": {
        "not-yet-sent-is-changed-in-place": "What has not been sent is worded anew in one transaction; its key stays, "
        "and who made which version when is kept, without the words.",
        "not-yet-sent-is-withdrawn-in-place": "What has not been sent is withdrawn: failed, not an error; who waits "
        "hears it.",
        "the-whole-story-survives-a-kill-between-any-two-steps": "A formatted report with files is sent, answered by "
        "mail, revised and recalled; kill -9 between any two of these loses nothing and sends nothing twice.",
        "a-revision-is-as-long-as-it-needs-to-be": "A longer text goes on in answers to the message, and what a "
        "shorter one needs no more is deleted; later corrections know of both.",
        "what-was-sent-is-edited-or-deleted": "What was sent is edited, or every part of it deleted, by a delivery of "
        "its own.",
        "a-correction-in-the-thread": "Where nothing can be changed, a reply in the thread corrects it.",
        "too-late-is-said": "Where nothing can be done, the answer is too_late and says why.",
        "being-sent-is-waited-for": "What is being sent is waited for, then corrected as it came out.",
        "a-correction-is-made-once": "The same call has the same answer; a key stands for one correction.",
        "chaos": "Killed at any step, a file or a correction is not lost, nor sent or made twice unmarked.",
        "the-last-accepted-text-stands": "Of several revisions the last accepted one stands at the end.",
        "only-its-sender-corrects-a-message": "Its sender, the owner and the operator correct a message; for others it "
        "does not exist.",
        "a-revised-text-is-approved-anew": "A new text passes the gate as a new message does; no approval of an old "
        "text counts for it.",
        "corrections-are-seen": "why, trace and the console show the corrections of a message, and what one corrects.",
    },
    "Files of people": {
        "files-from-people": "What people send with their words is kept on each channel that hears; a caption is text.",
        "files-from-people-told": "What is too large or unreadable is said to the person; of strangers none is kept.",
        "files-with-answers": "An answer may have files; the asker is told of them and can read and send them on.",
    },
    "Files": {
        "files-one-source": "Each attachment has exactly one of path, upload_id and data; what is wrong is named as it "
        "was written.",
        "files-outbox-only": "A path counts only below the caller's outbox folders, and never by way of .. or a dot.",
        "files-opened-safely": "A path is opened without following a link; hard links, pipes, folders and foreign "
        "files are refused, and a swap leads nowhere else.",
        "files-secrets-stay": "A file that looks like a private key or a known token is refused.",
        "files-type-by-content": "The bytes say what a file is; a declared type or a name that contradicts is refused.",
        "files-limits-first": "How many files and bytes are too many is said before anything is stored, by the "
        "channel's own limits and ours.",
        "files-by-hash": "Bytes are kept under their hash, once, and are checked whenever they are read.",
        "files-uploads": "POST /v1/uploads takes one file of a sender; it goes with one message of that sender within "
        "an hour.",
        "files-same-key": "The same key with the same files is the same delivery; with another file it is refused.",
        "files-in-approvals": "Who decides sees name, size, type, hash and the beginning of each file; what was "
        "approved is what is sent.",
        "files-dangerous-ask": "A file raises the risk by one step; archives and programs always wait for a person.",
        "files-not-executed": "No page of the console runs anything in a file.",
        "files-pruned": "Bytes go when no upload and no delivery needs them, and never before.",
    },
}

ATTENTION: Sections = {
    "One engine": {
        "every-moment-in-the-persons-zone": "Every moment a person reads is in their zone, and names it: as the "
        "policy says, their record, the household's settings, or UTC.",
        "oracle-agrees": "An oracle that wakes every minute and asks everything anew gives the same log of decisions.",
        "until-is-kept": "A notice goes on at the moment its hold names, if nothing happens before.",
        "neutral-by-default": "Without a policy a notice needs no row and leaves at once.",
        "extra-wakes": "Asking more often, or starting again in between, changes nothing.",
        "derived-ids": "The same cause has the same id and the same key of its send in every process.",
        "all-reasons": "Every reason that holds a notice is recorded with its end, and the latest binds.",
        "clock-set-back": "A clock that is set back makes nothing early, nothing twice and nothing lost.",
    },
    "Policy as data": {
        "policy-refused-by-name": "An unknown key, zone, person, channel or urgency is refused under its own name.",
        "policy-round-trip": "A policy is written back as it was read, and named by a hash of it.",
        "precedence": "The most specific value counts; of ceilings and budgets the lowest of all scopes.",
        "critical-needs-a-grant": "Without a grant critical is time_sensitive, and the decision says so.",
        "policy-change": "Another policy judges open notices again, and pages no one twice.",
        "delegate-cycle-refused": "Delegates who would stand in for each other are refused.",
    },
    "When it is shown": {
        "quiet-hours": "Quiet hours have weekdays and several windows, are half-open and follow the wall clock.",
        "zones": "Clock changes of half an hour, of two hours, at midnight and of a whole day are kept to.",
        "slots": "What is passive waits for a slot, which moves out of quiet hours and is used once.",
        "collect": "The first leaves at once, the following are collected until the window ends or is full.",
        "budget": "Over the budget a notice waits for a slot or until it frees; it is never dropped.",
        "longest-hold": "No policy holds a notice longer than its urgency allows.",
        "snooze-and-mute": "A snoozed notice comes back; a muted one is not sent, unless it is mandatory.",
        "away": "While a person is away notices wait, or go to the delegate in one hop and in its categories only.",
        "questions-wait": "A question's deadline does not run out in quiet hours.",
    },
    "One instead of many": {
        "duplicates": "The same text of one agent within the window is merged.",
        "supersede": "A newer notice of a key takes the place of an unsent one.",
        "digest": "A digest is frozen, highest urgency first, and shows all that it counts, however many.",
        "muted": "What is muted is answered as muted at every door, and the end of a mute tells how many and of whom.",
        "digest-shares": "Each agent has its share of a digest's first lines.",
        "withdraw": "A withdrawn notice is not sent, also when the withdrawal came first; one that left is recalled.",
    },
    "Until it is answered": {
        "repeat-and-escalate": "An urgent notice without an answer is repeated and taken further, in bounds.",
        "ack-stops": "After an answer there is no repeat and no step.",
        "asleep": "A machine that slept takes one step, not three.",
        "rotation": "A rotation says who is on duty over clock changes, overrides and gaps.",
        "fallback": "When a channel is down or a send failed finally, another takes its place.",
    },
    "Plan and laws": {
        "plan-is-reality": "The plan is what then happens if no one does anything.",
        "difference": "What another policy would have decided more or less often is said in words.",
        "conservation": "The laws L1 to L7 hold for two workers, crashes and every act, and find what breaks them.",
        "states": "One table holds every move a notice may make, and the drawing shows it.",
        "outside-cases": "Cases of other systems run as data, and every difference is listed.",
        "simulation-is-reality": "Decided once more from its recorded facts, a log comes out as it was recorded.",
    },
    "In the household": {
        "deferred": "A held message is answered with deferred, the notice, until when and why; nothing has left.",
        "neutral": "Without a policy a message is as before: no row, no commit, no statement more.",
        "one-key-one-notice": "The same key again is the same notice and answer; with other words it is refused.",
        "said": "`postroom notify` says in a sentence what became of a message, and its exit code tells apart.",
        "at-once": "What a command sets counts for the next message and question, and for a question that was held.",
        "lowered": "A sender whose urgency counts for less here is told so.",
        "rejudged": "A change of policy judges open notices anew in the same transaction.",
        "kill-safe": "Killed between deciding, handing over and noting, a notice is sent once and accounted for.",
        "one-decider": "Two workers never decide about one person at once.",
        "log-is-rows": "The rows are the fold of the append-only log, and the database refuses any other move.",
        "accounted": "Metric, figures and doctor count what breaks a law; it is 0.",
        "acts": "Acknowledge, snooze, withdraw, mute and away are each one dated fact.",
        "household-policy": "The household's policy stands in the settings; what is wrong in it is named at start.",
        "people-exist": "Who is named in a policy or a rotation exists; doctor names who is gone.",
        "heard-elsewhere": "On PostgreSQL a policy that another process sets is known at once.",
        "why-notice": "`why` says who held a notice, why and until when.",
        "fallback-takes-back": "What took another way is withdrawn where it waited, or marked where it was being sent.",
        "corrected-in-place": "What is corrected after it left is edited or deleted where that can be done.",
        "receipts": "What becomes of a delivery comes back to its notice; what is not approved takes no other way.",
    },
    "At the doors": {
        "fields": "The six wishes are taken by every door that sends; what is wrong is named and nothing is stored.",
        "who-may": "Agents withdraw their own notices; only people act for themselves, and the owner for all.",
        "commands": "`postroom attention` shows, sets, plans, simulates and tests, here and at a household elsewhere.",
        "buttons": "OK, Later, Mute today, /mute and /snooze count for people who proved who they are, for no other.",
        "dry-run": "The messenger's dry run says until when and why a message would be held, and writes nothing.",
        "note-urgency": "`send_notification` takes an urgency: the priority of its note; a wrong one keeps nothing.",
        "note-fields": "`send_notification` takes the six fields of `notify`, checked alike and kept with the note.",
        "note-held": "A copy that is held is said to be deferred, until when and why; the contract's answer stays.",
        "one-quiet-hours": "The inbox's quiet hours are the policy's: set in one place, shown and judged in both.",
        "rest": "Policies, silences, plans and figures over HTTP: what is wrong is refused by its field.",
    },
    "In the console": {
        "console-line": "The line counts every notice in its cell, as the API does, and each figure leads to its list.",
        "console-next": "The page says what will happen next, where and unless what.",
        "console-story": "One notice's page tells every decision with its reasons and time in the person's zone.",
        "console-acts": "OK, later, withdraw and mute for today are one press each, and say what was done.",
        "console-away": "A person goes away until a time, with someone who stands in, and comes back.",
        "console-preview": "A change of policy is tried on the last week and said in words before it is saved.",
        "console-policy": "A saved policy judges anew; a wrong value is named at its field and nothing is saved.",
        "console-own-only": "A person sees and changes only what is theirs; the owner everybody's.",
        "console-accessible": "The pages are accessible in both themes, on a phone, by keyboard and without script.",
    },
}

DRIVERS: Sections = {
    "Drivers": {
        "resume-after-kill": "An agent of each framework pauses, its process is killed, a person answers, and the run "
        "goes on in another process and acts once.",
        "asked-once": "However many processes take up a run, the person is asked once.",
        "silence-is-no-answer": "A question without an answer leaves the run paused; no driver takes it for a no.",
        "no-stale-approval": "An approval stands for one call: the same call later in the run is asked about again.",
    },
    "Other people's clients": {
        "axme": "The AXME SDK from PyPI works unchanged: health, send, repeat, 409, listen, resolve, observe, inbox.",
        "stream-since-seq": "A stream of what is put to an agent counts in whole numbers, by `since` and `seq`.",
        "protocol-words": "`status` of an intent says the words of its protocol.",
        "completion-delivery": "Who ends an intent learns how its end reaches the sender.",
        "reply-after-the-end": "A reply to a thread that is over is kept in it.",
        "header-not-ignored": "An Idempotency-Key that a route does not honour is refused.",
    },
}

TALK: Sections = {
    "Kept": {
        "stored-first": "A message of a person is stored, once for each message of the provider, before it is handled.",
        "words-are-words": "What a person writes cannot pass for the context a session is given, nor name its writer.",
        "flood": "Of one sender's flood as much is read as anybody types, it is answered once, and nobody else waits.",
        "states": "One table of moves: code, database and drawing agree.",
        "words-go": "Words that no butler is given are not kept; the others are erased when they are old.",
    },
    "Routed": {
        "order": "Answers first, then threads, names, the person's default butler, the only one, a choice.",
        "default-butler": "A person's default butler is set over HTTP and the command line; a wrong name is refused.",
        "why": "`postroom why` tells what was decided about a message of a person, and why.",
    },
    "Shown": {
        "history": "Everything said with a person, both ways, in pages; by butler and channel; gone words say so.",
        "history-own": "The owner reads everybody's history, a person their own, and no other caller any.",
        "console": "The console shows conversations by person, with where each message went and why.",
        "sessions-shown": "A person's page shows their default butler and today's sessions beside the ceiling.",
    },
    "Answered": {
        "answered-in-thread": "The session's own reply goes to the thread, and the household adds nothing to it.",
        "last-words": "A session that ends without a reply answers with its last words.",
        "in-order": "One session at a time for a person in one place, in the order they wrote.",
        "turns": "The last turns are given to the session as data, bounded.",
        "typing": "While a session runs the person sees that it does, where the channel can show it.",
        "subject": "An answer by mail carries the mail's subject, made one bounded line, and names the mail.",
        "failure-in-words": "A session that fails, runs out of time or cannot be reached is explained in plain words.",
        "stop": "/stop ends what runs and what waits in this conversation.",
        "channels": "Telegram, Slack, Discord and mail: each is answered where it was written.",
        "restart": "After kill -9 a message is answered once or said to have failed: never lost, never twice.",
        "limit": "Sessions of one person within a day have a ceiling, which is said when it is reached.",
        "chaos": "Killed at any step, a message is not lost, nor answered twice unmarked, nor out of order.",
    },
    "Whose words": {
        "strangers": "Nothing runs for unverified senders, forwards and bots; a stranger hears one sentence a day.",
        "approvals": "What a session sends to others waits for consent; its answer to who wrote needs none.",
        "injections": "Orders in a mail, forward, quote, file, calendar entry or earlier turn send and change nothing.",
        "groups": "In a group only known people are answered, when they name the bot or reply to it.",
        "no-model": "Without a model that works the person hears what is missing; doctor, Today and Health say so.",
        "commands": "/help /status /inbox /asks /stop /why /pair work without a model, in the person's language.",
    },
}


REQUIREMENTS: tuple[Requirement, ...] = (
    *_listed("notify", "notify-contract.md", NOTIFY),
    *_listed("messenger", "messenger-role.md", MESSENGER),
    *_listed("inbox", "send-notification-tool.md", INBOX),
    *(
        Requirement(id=name, spec="popup-notify-tool.md", requirement="Popup", scenario=sentence)
        for name, sentence in requirements_popup.REQUIREMENTS.items()
    ),
    *_listed("intent", "intent-normalization.md", INTENT),
    *_listed("house", "decisions", HOUSE),
    *_listed("ask", "decisions, Ask", ASK),
    *_listed("mail", "decisions, Mail", MAIL),
    *_listed("chan", "decisions, Channels", CHANNELS),
    *_listed("content", "decisions, Content", CONTENT),
    *_listed("connect", "decisions, Connect", CONNECT),
    *_listed("side", "the person's side", SIDE),
    *_listed("attention", "decisions, Attention", ATTENTION),
    *_listed("drivers", "decisions, Connect: drivers", DRIVERS),
    *_listed("talk", "decisions, Conversations", TALK),
)
IDS = frozenset(requirement.id for requirement in REQUIREMENTS)
