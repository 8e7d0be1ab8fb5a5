-- The tables of the baseline, on SQLite and PostgreSQL; {messenger} and the like stand for the schema, which SQLite has not.

CREATE TABLE {messenger}approval_events (
    id TEXT NOT NULL,
    action_id TEXT,
    rule_id TEXT,
    event_type TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    event_metadata TEXT NOT NULL,
    occurred_at BIGINT NOT NULL,
    CONSTRAINT pk_approval_events PRIMARY KEY (id),
    CONSTRAINT ck_approval_events_subject CHECK (action_id IS NOT NULL OR rule_id IS NOT NULL)
);

CREATE INDEX ix_approval_events_action_id ON {messenger}approval_events (action_id);

CREATE INDEX ix_approval_events_rule_id ON {messenger}approval_events (rule_id);

CREATE TABLE {messenger}approval_rules (
    id TEXT NOT NULL,
    constraints TEXT NOT NULL,
    description TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_from TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    max_uses INTEGER,
    use_count INTEGER NOT NULL,
    revoked_by TEXT,
    revoked_at BIGINT,
    CONSTRAINT pk_approval_rules PRIMARY KEY (id),
    CONSTRAINT ck_approval_rules_uses CHECK (max_uses IS NULL OR use_count <= max_uses)
);

CREATE TABLE {messenger}circuit_states (
    channel TEXT NOT NULL,
    state TEXT NOT NULL,
    failures INTEGER NOT NULL,
    opened_at BIGINT NOT NULL,
    generation INTEGER NOT NULL,
    reason TEXT,
    error_class TEXT,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_circuit_states PRIMARY KEY (channel)
);

CREATE TABLE {messenger}delivery_refusals (
    id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_id TEXT NOT NULL,
    origin_butler TEXT NOT NULL,
    channel TEXT NOT NULL,
    intent TEXT NOT NULL,
    target_identity TEXT NOT NULL,
    error_class TEXT NOT NULL,
    error_message TEXT NOT NULL,
    limit_type TEXT,
    retry_after_seconds FLOAT,
    trace_id TEXT,
    created_at BIGINT NOT NULL,
    handed_by TEXT,
    CONSTRAINT pk_delivery_refusals PRIMARY KEY (id)
);

CREATE INDEX ix_delivery_refusals_created_at ON {messenger}delivery_refusals (created_at);

CREATE INDEX ix_delivery_refusals_request_id ON {messenger}delivery_refusals (request_id);

CREATE TABLE {messenger}delivery_requests (
    id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    request_id TEXT NOT NULL,
    origin_butler TEXT NOT NULL,
    channel TEXT NOT NULL,
    intent TEXT NOT NULL,
    target_identity TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT,
    order_key TEXT NOT NULL,
    message_content TEXT NOT NULL,
    subject TEXT,
    emoji TEXT,
    request_envelope TEXT NOT NULL,
    priority SMALLINT NOT NULL,
    on_uncertain TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    parts_done INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    sending BOOLEAN NOT NULL,
    possible_duplicate BOOLEAN NOT NULL,
    not_before BIGINT NOT NULL,
    lease_until BIGINT,
    waiting_reason TEXT,
    waiting_detail TEXT,
    waiting_asked_seconds FLOAT,
    terminal_error_class TEXT,
    terminal_error_message TEXT,
    provider_delivery_id TEXT,
    trace_id TEXT,
    replay_of TEXT,
    replay_number INTEGER,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    terminal_at BIGINT,
    markup TEXT,
    revises TEXT,
    revision TEXT,
    doubtful_since BIGINT,
    format TEXT,
    attachments TEXT,
    handed_by TEXT,
    CONSTRAINT pk_delivery_requests PRIMARY KEY (id),
    CONSTRAINT uq_delivery_requests_idempotency_key UNIQUE (idempotency_key),
    CONSTRAINT ck_delivery_requests_status CHECK (status IN ('awaiting_approval', 'pending', 'in_progress', 'delivered', 'failed', 'dead_lettered')),
    CONSTRAINT ck_delivery_requests_intent CHECK (intent IN ('send', 'reply', 'react')),
    CONSTRAINT ck_delivery_requests_on_uncertain CHECK (on_uncertain IN ('resend', 'hold'))
);

CREATE INDEX ix_delivery_requests_channel_status_id ON {messenger}delivery_requests (channel, status, id);

CREATE INDEX ix_delivery_requests_created_at ON {messenger}delivery_requests (created_at);

CREATE INDEX ix_delivery_requests_due ON {messenger}delivery_requests (channel, origin_butler, priority, not_before) WHERE status = 'pending';

CREATE INDEX ix_delivery_requests_intents ON {messenger}delivery_requests (address, id) WHERE origin_butler = 'intents';

CREATE INDEX ix_delivery_requests_lease ON {messenger}delivery_requests (lease_until) WHERE status = 'in_progress';

CREATE INDEX ix_delivery_requests_order ON {messenger}delivery_requests (order_key, origin_butler, id) WHERE status IN ('pending', 'in_progress');

CREATE INDEX ix_delivery_requests_origin_butler_id ON {messenger}delivery_requests (origin_butler, id);

CREATE INDEX ix_delivery_requests_rare ON {messenger}delivery_requests (status, id) WHERE status IN ('awaiting_approval', 'failed', 'dead_lettered');

CREATE INDEX ix_delivery_requests_replay_of ON {messenger}delivery_requests (replay_of) WHERE replay_of IS NOT NULL;

CREATE INDEX ix_delivery_requests_request_id ON {messenger}delivery_requests (request_id);

CREATE INDEX ix_delivery_requests_revises ON {messenger}delivery_requests (revises, id) WHERE revises IS NOT NULL;

CREATE INDEX ix_delivery_requests_wake ON {messenger}delivery_requests (not_before) WHERE status = 'pending';

CREATE TABLE {messenger}heard_threads (
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT NOT NULL,
    heard_at BIGINT NOT NULL,
    CONSTRAINT pk_heard_threads PRIMARY KEY (channel, address, thread)
);

CREATE TABLE {shared}appointments (
    id TEXT NOT NULL,
    butler TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    work TEXT NOT NULL,
    status TEXT NOT NULL,
    tries INTEGER NOT NULL,
    result TEXT,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_appointments PRIMARY KEY (id)
);

CREATE INDEX ix_appointments_due ON {shared}appointments (butler, due_at) WHERE status = 'waiting';

CREATE TABLE {shared}attention_log (
    person TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    notice TEXT,
    body TEXT NOT NULL,
    CONSTRAINT pk_attention_log PRIMARY KEY (person, seq)
);

CREATE INDEX ix_attention_log_accepted ON {shared}attention_log (person) WHERE kind = 'NoticeAccepted';

CREATE INDEX ix_attention_log_facts ON {shared}attention_log (notice, at) WHERE notice IS NULL;

CREATE INDEX ix_attention_log_held ON {shared}attention_log (at, notice) WHERE kind IN ('hold', 'join_digest');

CREATE INDEX ix_attention_log_notice ON {shared}attention_log (notice, seq);

CREATE INDEX ix_attention_log_person_at ON {shared}attention_log (person, at);

CREATE TABLE {shared}attention_people (
    person TEXT NOT NULL,
    policy TEXT,
    rest TEXT NOT NULL,
    seq BIGINT NOT NULL,
    CONSTRAINT pk_attention_people PRIMARY KEY (person)
);

CREATE TABLE {shared}audit_entries (
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    act TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    door TEXT NOT NULL,
    CONSTRAINT pk_audit_entries PRIMARY KEY (id),
    CONSTRAINT ck_audit_entries_kind CHECK (kind IN ('sign-in', 'decision', 'people', 'rules', 'attention', 'access', 'messages', 'settings'))
);

CREATE INDEX ix_audit_entries_actor ON {shared}audit_entries (actor, at, id);

CREATE INDEX ix_audit_entries_at_id ON {shared}audit_entries (at, id);

CREATE INDEX ix_audit_entries_kind ON {shared}audit_entries (kind, at, id);

CREATE TABLE {shared}butler_state (
    butler TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_butler_state PRIMARY KEY (butler, key)
);

CREATE TABLE {shared}closed_addresses (
    channel TEXT NOT NULL,
    folded TEXT NOT NULL,
    address TEXT NOT NULL,
    reason TEXT NOT NULL,
    words TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    closed_at BIGINT NOT NULL,
    CONSTRAINT pk_closed_addresses PRIMARY KEY (channel, folded),
    CONSTRAINT ck_closed_addresses_reason CHECK (reason IN ('bounced', 'doubtful'))
);

CREATE TABLE {shared}console_links (
    digest TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    token_ids TEXT,
    person_id TEXT,
    way TEXT,
    browser TEXT,
    channel TEXT,
    address TEXT,
    sent_at BIGINT,
    CONSTRAINT pk_console_links PRIMARY KEY (digest)
);

CREATE INDEX ix_console_links_person_id ON {shared}console_links (person_id, created_at);

CREATE INDEX ix_console_links_unsent ON {shared}console_links (created_at) WHERE channel IS NOT NULL AND sent_at IS NULL;

CREATE TABLE {shared}console_sessions (
    digest TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    token_ids TEXT,
    person_id TEXT,
    person_role TEXT,
    way TEXT,
    device TEXT,
    credential TEXT,
    CONSTRAINT pk_console_sessions PRIMARY KEY (digest)
);

CREATE INDEX ix_console_sessions_person_id ON {shared}console_sessions (person_id);

CREATE INDEX ix_console_sessions_role_name ON {shared}console_sessions (role, name);

CREATE TABLE {shared}contact_books (
    owner_agent TEXT NOT NULL,
    version INTEGER NOT NULL,
    CONSTRAINT pk_contact_books PRIMARY KEY (owner_agent)
);

CREATE TABLE {shared}contact_offers (
    token_hash TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    query TEXT NOT NULL,
    candidates TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_contact_offers PRIMARY KEY (token_hash)
);

CREATE INDEX ix_contact_offers_expires_at ON {shared}contact_offers (expires_at);

CREATE TABLE {shared}digests (
    id TEXT NOT NULL,
    person TEXT NOT NULL,
    digest TEXT NOT NULL,
    CONSTRAINT pk_digests PRIMARY KEY (id)
);

CREATE TABLE {shared}email_confirmations (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    address TEXT NOT NULL,
    digest TEXT,
    attempts INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    handed_over_at BIGINT,
    confirmed_at BIGINT,
    purpose TEXT DEFAULT 'inbox' NOT NULL,
    channel TEXT DEFAULT 'email' NOT NULL,
    CONSTRAINT pk_email_confirmations PRIMARY KEY (id),
    CONSTRAINT uq_email_confirmations_digest UNIQUE (digest)
);

CREATE INDEX ix_email_confirmations_user_id_created_at ON {shared}email_confirmations (user_id, created_at);

CREATE TABLE {shared}idempotency_keys (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    reserved_id TEXT NOT NULL,
    status INTEGER,
    body TEXT,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (caller, key)
);

CREATE INDEX ix_idempotency_keys_caller_created_at ON {shared}idempotency_keys (caller, created_at);

CREATE INDEX ix_idempotency_keys_created_at ON {shared}idempotency_keys (created_at);

CREATE TABLE {shared}inbound_messages (
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    event_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    message_id TEXT NOT NULL,
    place TEXT NOT NULL,
    places TEXT NOT NULL,
    thread TEXT NOT NULL,
    sender TEXT,
    assurance TEXT NOT NULL,
    flags TEXT NOT NULL,
    alone BOOLEAN NOT NULL,
    addressed BOOLEAN NOT NULL,
    replies_to TEXT,
    answers TEXT,
    text TEXT,
    said_at BIGINT,
    received_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    person TEXT,
    kind TEXT,
    target TEXT,
    reason TEXT NOT NULL,
    session_id TEXT,
    tokens BIGINT DEFAULT '0' NOT NULL,
    changed_at BIGINT NOT NULL,
    subject TEXT,
    attachments TEXT,
    CONSTRAINT pk_inbound_messages PRIMARY KEY (id),
    CONSTRAINT uq_inbound_messages_channel_event_id UNIQUE (channel, event_id),
    CONSTRAINT ck_inbound_messages_status CHECK (status IN ('received', 'routed', 'waiting', 'running', 'answered', 'failed', 'stopped', 'handled', 'refused'))
);

CREATE INDEX ix_inbound_messages_conversation ON {shared}inbound_messages (person, channel, place, id);

CREATE INDEX ix_inbound_messages_open ON {shared}inbound_messages (id) WHERE status IN ('received', 'routed', 'waiting', 'running');

CREATE INDEX ix_inbound_messages_received_at ON {shared}inbound_messages (received_at);

CREATE INDEX ix_inbound_messages_target ON {shared}inbound_messages (person, channel, place, target, id);

CREATE TABLE {shared}inbound_offsets (
    source TEXT NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT pk_inbound_offsets PRIMARY KEY (source)
);

CREATE TABLE {shared}inbound_troubles (
    source TEXT NOT NULL,
    sentence TEXT NOT NULL,
    since BIGINT NOT NULL,
    CONSTRAINT pk_inbound_troubles PRIMARY KEY (source)
);

CREATE TABLE {shared}intents (
    id TEXT NOT NULL,
    intent_type TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    from_agent TEXT NOT NULL,
    to_agent TEXT NOT NULL,
    handler TEXT NOT NULL,
    payload TEXT NOT NULL,
    metadata TEXT NOT NULL,
    idempotency_key TEXT,
    fingerprint TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    reply_to TEXT,
    deadline_at BIGINT,
    macro_id TEXT,
    status TEXT NOT NULL,
    waiting_reason TEXT,
    seq INTEGER NOT NULL,
    plan TEXT NOT NULL,
    position INTEGER NOT NULL,
    next_at BIGINT,
    carried BOOLEAN NOT NULL,
    result TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_intents PRIMARY KEY (id),
    CONSTRAINT uq_intents_from_agent_idempotency_key UNIQUE (from_agent, idempotency_key),
    CONSTRAINT ck_intents_status CHECK (status IN ('CREATED', 'SUBMITTED', 'DELIVERED', 'ACKNOWLEDGED', 'IN_PROGRESS', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT'))
);

CREATE INDEX ix_intents_correlation_id ON {shared}intents (correlation_id);

CREATE INDEX ix_intents_from_agent_id ON {shared}intents (from_agent, id);

CREATE INDEX ix_intents_to_agent_id ON {shared}intents (to_agent, id);

CREATE TABLE {shared}moments (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    reason TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    look_at BIGINT NOT NULL,
    fence INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    CONSTRAINT pk_moments PRIMARY KEY (kind, id, reason),
    CONSTRAINT ck_moments_reason CHECK (reason IN ('remind', 'escalate', 'expire', 'go_on', 'look_after', 'forget'))
);

CREATE INDEX ix_moments_look_at ON {shared}moments (look_at);

CREATE TABLE {shared}notice_sends (
    key TEXT NOT NULL,
    person TEXT NOT NULL,
    at BIGINT NOT NULL,
    pending BOOLEAN NOT NULL,
    replaced BOOLEAN NOT NULL,
    delivery_id TEXT,
    request_id TEXT NOT NULL,
    send TEXT NOT NULL,
    outgoing TEXT,
    notice TEXT,
    lease_until BIGINT,
    fence INTEGER NOT NULL,
    CONSTRAINT pk_notice_sends PRIMARY KEY (key)
);

CREATE INDEX ix_notice_sends_delivery_id ON {shared}notice_sends (delivery_id);

CREATE INDEX ix_notice_sends_handed_over ON {shared}notice_sends (at) WHERE NOT pending;

CREATE INDEX ix_notice_sends_pending ON {shared}notice_sends (person) WHERE pending;

CREATE INDEX ix_notice_sends_person_at ON {shared}notice_sends (person, at);

CREATE TABLE {shared}notices (
    id TEXT NOT NULL,
    person TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT,
    state TEXT NOT NULL,
    open BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    fingerprint TEXT NOT NULL,
    request_id TEXT NOT NULL,
    standing TEXT NOT NULL,
    outgoing TEXT NOT NULL,
    CONSTRAINT pk_notices PRIMARY KEY (id),
    CONSTRAINT ck_notices_state CHECK (state IN ('accepted', 'held', 'digesting', 'released', 'sent', 'digested', 'waiting', 'acknowledged', 'unanswered', 'muted', 'merged', 'withdrawn', 'recalled', 'expired', 'undeliverable', 'refused_by_approval'))
);

CREATE INDEX ix_notices_closed ON {shared}notices (created_at) WHERE NOT open;

CREATE INDEX ix_notices_key ON {shared}notices (person, agent, key) WHERE key IS NOT NULL;

CREATE INDEX ix_notices_open ON {shared}notices (person) WHERE open;

CREATE INDEX ix_notices_person_created_at ON {shared}notices (person, created_at, id);

CREATE INDEX ix_notices_person_state ON {shared}notices (person, state, agent);

CREATE INDEX ix_notices_person_state_created_at ON {shared}notices (person, state, created_at, id);

CREATE INDEX ix_notices_request_id ON {shared}notices (request_id);

CREATE TABLE {shared}notification_preferences (
    user_id TEXT NOT NULL,
    delivery_channel TEXT NOT NULL,
    email TEXT,
    quiet_hours_start TEXT,
    quiet_hours_end TEXT,
    quiet_hours_timezone TEXT NOT NULL,
    high_priority_passes BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    email_pending TEXT,
    CONSTRAINT pk_notification_preferences PRIMARY KEY (user_id),
    CONSTRAINT ck_notification_preferences_delivery_channel CHECK (delivery_channel IN ('in_app', 'email', 'both')),
    CONSTRAINT ck_notification_preferences_quiet_hours CHECK ((quiet_hours_start IS NULL) = (quiet_hours_end IS NULL))
);

CREATE TABLE {shared}notifications (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT,
    correlation_id TEXT,
    message TEXT NOT NULL,
    type TEXT NOT NULL,
    priority TEXT NOT NULL,
    link TEXT,
    has_bell BOOLEAN NOT NULL,
    seen_at BIGINT,
    read_at BIGINT,
    archived_at BIGINT,
    dismissed_at BIGINT,
    snoozed_until BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    agent TEXT DEFAULT 'inbox' NOT NULL,
    urgency TEXT,
    category TEXT,
    thread TEXT,
    supersedes TEXT,
    needs_ack BOOLEAN DEFAULT false NOT NULL,
    expires_in_seconds BIGINT,
    CONSTRAINT pk_notifications PRIMARY KEY (id),
    CONSTRAINT ck_notifications_message CHECK (length(message) BETWEEN 1 AND 500),
    CONSTRAINT ck_notifications_type CHECK (type IN ('reminder', 'info', 'warning')),
    CONSTRAINT ck_notifications_priority CHECK (priority IN ('high', 'medium', 'low'))
);

CREATE INDEX ix_notifications_archived ON {shared}notifications (user_id, created_at, id) WHERE archived_at IS NOT NULL;

CREATE INDEX ix_notifications_dismissed ON {shared}notifications (user_id, created_at, id) WHERE dismissed_at IS NOT NULL;

CREATE INDEX ix_notifications_snoozed ON {shared}notifications (user_id, snoozed_until) WHERE snoozed_until IS NOT NULL;

CREATE INDEX ix_notifications_supersedes ON {shared}notifications (user_id, supersedes) WHERE supersedes IS NOT NULL;

CREATE INDEX ix_notifications_unread ON {shared}notifications (user_id) WHERE read_at IS NULL AND dismissed_at IS NULL;

CREATE INDEX ix_notifications_updated_at ON {shared}notifications (updated_at);

CREATE INDEX ix_notifications_user_id_created_at_id ON {shared}notifications (user_id, created_at, id);

CREATE INDEX ix_notifications_user_id_updated_at ON {shared}notifications (user_id, updated_at);

CREATE TABLE {shared}pairing_wrong_codes (
    channel TEXT NOT NULL,
    sender TEXT NOT NULL,
    count INTEGER NOT NULL,
    last_at BIGINT NOT NULL,
    CONSTRAINT pk_pairing_wrong_codes PRIMARY KEY (channel, sender)
);

CREATE TABLE {shared}passkey_challenges (
    digest TEXT NOT NULL,
    ceremony TEXT NOT NULL,
    browser TEXT NOT NULL,
    person_id TEXT,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_passkey_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_passkey_challenges_expires_at ON {shared}passkey_challenges (expires_at);

CREATE TABLE {shared}people (
    id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    name TEXT NOT NULL,
    agent_address TEXT NOT NULL,
    role TEXT NOT NULL,
    trusted BOOLEAN NOT NULL,
    zone TEXT,
    language TEXT,
    source TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    default_butler TEXT,
    CONSTRAINT pk_people PRIMARY KEY (id),
    CONSTRAINT uq_people_owner_agent_agent_address UNIQUE (owner_agent, agent_address),
    CONSTRAINT ck_people_role CHECK (role IN ('owner', 'approver', 'member', 'contact'))
);

CREATE UNIQUE INDEX ix_people_owner ON {shared}people (role) WHERE role = 'owner';

CREATE INDEX ix_people_owner_agent_id ON {shared}people (owner_agent, id);

CREATE TABLE {shared}people_seeds (
    person_id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    name TEXT NOT NULL,
    said TEXT NOT NULL,
    changed BOOLEAN NOT NULL,
    CONSTRAINT pk_people_seeds PRIMARY KEY (person_id)
);

CREATE TABLE {shared}questions (
    id TEXT NOT NULL,
    asker TEXT NOT NULL,
    key TEXT,
    fingerprint TEXT NOT NULL,
    revision INTEGER NOT NULL,
    revision_hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    secret BOOLEAN NOT NULL,
    wording TEXT,
    channels TEXT,
    urgency TEXT NOT NULL,
    preview TEXT NOT NULL,
    state TEXT,
    remind_after_seconds BIGINT,
    escalate_to TEXT,
    escalate_after_seconds BIGINT,
    resume TEXT,
    subject_kind TEXT,
    subject_id TEXT,
    status TEXT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    reason TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    reminded_at BIGINT,
    escalated_at BIGINT,
    collected_at BIGINT,
    reckoned_by BIGINT,
    erased_at BIGINT,
    CONSTRAINT pk_questions PRIMARY KEY (id),
    CONSTRAINT uq_questions_asker_key UNIQUE (asker, key),
    CONSTRAINT ck_questions_kind CHECK (kind IN ('text', 'choice', 'approve', 'form')),
    CONSTRAINT ck_questions_status CHECK (status IN ('open', 'answered', 'declined', 'expired', 'cancelled', 'superseded')),
    CONSTRAINT ck_questions_subject_kind CHECK (subject_kind IN ('approval', 'intent')),
    CONSTRAINT ck_questions_ended CHECK ((status = 'open') = (ended_at IS NULL))
);

CREATE INDEX ix_questions_asker_id ON {shared}questions (asker, id);

CREATE INDEX ix_questions_asker_revision_hash ON {shared}questions (asker, revision_hash);

CREATE INDEX ix_questions_ended_at ON {shared}questions (ended_at) WHERE ended_at IS NOT NULL AND erased_at IS NULL;

CREATE INDEX ix_questions_erased ON {shared}questions (ended_at) WHERE erased_at IS NOT NULL;

CREATE INDEX ix_questions_status_id ON {shared}questions (status, id);

CREATE INDEX ix_questions_subject ON {shared}questions (subject_id, subject_kind) WHERE subject_id IS NOT NULL;

CREATE TABLE {shared}sessions (
    id TEXT NOT NULL,
    butler TEXT NOT NULL,
    runtime TEXT NOT NULL,
    trigger_source TEXT NOT NULL,
    caller TEXT NOT NULL,
    request_key TEXT,
    request_id TEXT,
    request_context TEXT,
    prompt TEXT NOT NULL,
    depth INTEGER NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    error_class TEXT,
    error_message TEXT,
    end_code TEXT,
    transcript TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    CONSTRAINT pk_sessions PRIMARY KEY (id),
    CONSTRAINT uq_sessions_butler_request_key UNIQUE (butler, request_key),
    CONSTRAINT ck_sessions_status CHECK (status IN ('queued', 'running', 'done', 'failed', 'timed_out', 'lost'))
);

CREATE INDEX ix_sessions_butler_id ON {shared}sessions (butler, id);

CREATE INDEX ix_sessions_open ON {shared}sessions (butler, status, id) WHERE status IN ('queued', 'running');

CREATE INDEX ix_sessions_request_id ON {shared}sessions (request_id);

CREATE TABLE {shared}sign_in_attempts (
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_sign_in_attempts PRIMARY KEY (id)
);

CREATE INDEX ix_sign_in_attempts_sender_at ON {shared}sign_in_attempts (sender, at);

CREATE TABLE {shared}uploads (
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    key TEXT,
    used_by TEXT,
    used_at BIGINT,
    CONSTRAINT pk_uploads PRIMARY KEY (id),
    CONSTRAINT uq_uploads_owner_key UNIQUE (owner, key)
);

CREATE INDEX ix_uploads_expires_at ON {shared}uploads (expires_at);

CREATE INDEX ix_uploads_owner_created_at ON {shared}uploads (owner, created_at);

CREATE INDEX ix_uploads_sha256 ON {shared}uploads (sha256);

CREATE TABLE {shared}webhook_subscriptions (
    id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    callback_url TEXT NOT NULL,
    event_types TEXT NOT NULL,
    secret TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_webhook_subscriptions PRIMARY KEY (id),
    CONSTRAINT uq_webhook_subscriptions_owner_agent_callback_url UNIQUE (owner_agent, callback_url)
);

CREATE TABLE {shared}workers (
    name TEXT NOT NULL,
    alone BOOLEAN NOT NULL,
    since BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    CONSTRAINT pk_workers PRIMARY KEY (name)
);

CREATE TABLE {switchboard}butler_registry (
    name TEXT NOT NULL,
    endpoint_url TEXT NOT NULL,
    description TEXT NOT NULL,
    modules TEXT NOT NULL,
    liveness_ttl_seconds FLOAT NOT NULL,
    registered_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    quarantine_reason TEXT,
    CONSTRAINT pk_butler_registry PRIMARY KEY (name)
);

CREATE TABLE {messenger}delivery_attempts (
    delivery_request_id TEXT NOT NULL,
    attempt_number INTEGER NOT NULL,
    started_at BIGINT NOT NULL,
    completed_at BIGINT NOT NULL,
    latency_ms FLOAT NOT NULL,
    outcome TEXT NOT NULL,
    error_class TEXT,
    error_message TEXT,
    provider_response TEXT,
    asked TEXT,
    CONSTRAINT pk_delivery_attempts PRIMARY KEY (delivery_request_id, attempt_number),
    CONSTRAINT ck_delivery_attempts_outcome CHECK (outcome IN ('success', 'retryable_error', 'non_retryable_error', 'uncertain')),
    CONSTRAINT fk_delivery_attempts_delivery_request_id FOREIGN KEY(delivery_request_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE TABLE {messenger}delivery_corrections (
    id TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    act TEXT NOT NULL,
    how TEXT NOT NULL,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    key TEXT,
    reason TEXT,
    carried_key TEXT,
    at BIGINT NOT NULL,
    CONSTRAINT pk_delivery_corrections PRIMARY KEY (id),
    CONSTRAINT uq_delivery_corrections_key UNIQUE (key),
    CONSTRAINT uq_delivery_corrections_carried_key UNIQUE (carried_key),
    CONSTRAINT ck_delivery_corrections_act CHECK (act IN ('revise', 'recall')),
    CONSTRAINT ck_delivery_corrections_how CHECK (how IN ('in_place', 'edit', 'delete', 'correction')),
    CONSTRAINT fk_delivery_corrections_delivery_id FOREIGN KEY(delivery_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE INDEX ix_delivery_corrections_delivery_id ON {messenger}delivery_corrections (delivery_id);

CREATE TABLE {messenger}delivery_dead_letter (
    id TEXT NOT NULL,
    delivery_request_id TEXT NOT NULL,
    quarantine_reason TEXT NOT NULL,
    error_class TEXT,
    error_summary TEXT,
    total_attempts INTEGER NOT NULL,
    replay_count INTEGER NOT NULL,
    discarded_at BIGINT,
    discard_reason TEXT,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_delivery_dead_letter PRIMARY KEY (id),
    CONSTRAINT uq_delivery_dead_letter_delivery_request_id UNIQUE (delivery_request_id),
    CONSTRAINT ck_delivery_dead_letter_quarantine_reason CHECK (quarantine_reason IN ('retries_exhausted', 'outcome_uncertain')),
    CONSTRAINT fk_delivery_dead_letter_delivery_request_id FOREIGN KEY(delivery_request_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE INDEX ix_delivery_dead_letter_created_at ON {messenger}delivery_dead_letter (created_at);

CREATE INDEX ix_delivery_dead_letter_open ON {messenger}delivery_dead_letter (quarantine_reason) WHERE discarded_at IS NULL AND replay_count = 0;

CREATE INDEX ix_delivery_dead_letter_undecided ON {messenger}delivery_dead_letter (id) WHERE discarded_at IS NULL;

CREATE TABLE {messenger}delivery_news (
    delivery_request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    event_id TEXT NOT NULL,
    words TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_delivery_news PRIMARY KEY (delivery_request_id, kind, event_id),
    CONSTRAINT fk_delivery_news_delivery_request_id FOREIGN KEY(delivery_request_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE TABLE {messenger}delivery_receipts (
    delivery_request_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    provider_delivery_id TEXT NOT NULL,
    receipt_type TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    conversation TEXT,
    about TEXT,
    CONSTRAINT pk_delivery_receipts PRIMARY KEY (delivery_request_id, part),
    CONSTRAINT ck_delivery_receipts_receipt_type CHECK (receipt_type IN ('sent', 'edit', 'delete', 'reaction')),
    CONSTRAINT fk_delivery_receipts_delivery_request_id FOREIGN KEY(delivery_request_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE TABLE {messenger}delivery_replies (
    delivery_request_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    original TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_delivery_replies PRIMARY KEY (delivery_request_id, event_id),
    CONSTRAINT fk_delivery_replies_delivery_request_id FOREIGN KEY(delivery_request_id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE TABLE {messenger}pending_actions (
    id TEXT NOT NULL,
    question_id TEXT,
    origin_butler TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    risk TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    edited BOOLEAN NOT NULL,
    CONSTRAINT pk_pending_actions PRIMARY KEY (id),
    CONSTRAINT ck_pending_actions_risk CHECK (risk IN ('low', 'medium', 'high', 'critical')),
    CONSTRAINT fk_pending_actions_id FOREIGN KEY(id) REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
);

CREATE TABLE {shared}contact_aliases (
    id TEXT NOT NULL,
    contact_id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    alias TEXT NOT NULL,
    is_name BOOLEAN NOT NULL,
    normal TEXT NOT NULL,
    folded TEXT NOT NULL,
    latin TEXT NOT NULL,
    skeletons TEXT NOT NULL,
    script TEXT NOT NULL,
    CONSTRAINT pk_contact_aliases PRIMARY KEY (id),
    CONSTRAINT uq_contact_aliases_contact_id_normal UNIQUE (contact_id, normal),
    CONSTRAINT fk_contact_aliases_contact_id FOREIGN KEY(contact_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE INDEX ix_contact_aliases_owner_agent_normal ON {shared}contact_aliases (owner_agent, normal);

CREATE TABLE {shared}contact_memory (
    id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    query TEXT NOT NULL,
    contact_id TEXT NOT NULL,
    agent_address TEXT NOT NULL,
    alias TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    rival FLOAT NOT NULL,
    book_version INTEGER NOT NULL,
    source TEXT NOT NULL,
    confirm_count INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    confirmed_at BIGINT NOT NULL,
    CONSTRAINT pk_contact_memory PRIMARY KEY (id),
    CONSTRAINT uq_contact_memory_owner_agent_query UNIQUE (owner_agent, query),
    CONSTRAINT fk_contact_memory_contact_id FOREIGN KEY(contact_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE INDEX ix_contact_memory_contact_id ON {shared}contact_memory (contact_id);

CREATE TABLE {shared}intent_events (
    intent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    status TEXT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT,
    waiting_reason TEXT,
    payload TEXT NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT pk_intent_events PRIMARY KEY (intent_id, seq),
    CONSTRAINT uq_intent_events_id UNIQUE (id),
    CONSTRAINT ck_intent_events_status CHECK (status IN ('CREATED', 'SUBMITTED', 'DELIVERED', 'ACKNOWLEDGED', 'IN_PROGRESS', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT')),
    CONSTRAINT fk_intent_events_intent_id FOREIGN KEY(intent_id) REFERENCES {shared}intents (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_intent_events_position ON {shared}intent_events (position);

CREATE TABLE {shared}intent_members (
    agent TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT pk_intent_members PRIMARY KEY (agent, intent_id),
    CONSTRAINT fk_intent_members_intent_id FOREIGN KEY(intent_id) REFERENCES {shared}intents (id) ON DELETE CASCADE
);

CREATE INDEX ix_intent_members_agent_position ON {shared}intent_members (agent, position);

CREATE TABLE {shared}intent_messages (
    id TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    author TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_intent_messages PRIMARY KEY (id),
    CONSTRAINT fk_intent_messages_intent_id FOREIGN KEY(intent_id) REFERENCES {shared}intents (id) ON DELETE CASCADE
);

CREATE INDEX ix_intent_messages_intent_id_id ON {shared}intent_messages (intent_id, id);

CREATE TABLE {shared}pairing_codes (
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    used_by TEXT,
    CONSTRAINT pk_pairing_codes PRIMARY KEY (id),
    CONSTRAINT fk_pairing_codes_person_id FOREIGN KEY(person_id) REFERENCES {shared}people (id) ON DELETE CASCADE,
    CONSTRAINT uq_pairing_codes_digest UNIQUE (digest)
);

CREATE INDEX ix_pairing_codes_person_id ON {shared}pairing_codes (person_id);

CREATE TABLE {shared}passkeys (
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    public_key TEXT NOT NULL,
    counter BIGINT NOT NULL,
    transports TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    CONSTRAINT pk_passkeys PRIMARY KEY (id),
    CONSTRAINT fk_passkeys_person_id FOREIGN KEY(person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE INDEX ix_passkeys_person_id ON {shared}passkeys (person_id);

CREATE TABLE {shared}person_addresses (
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    owner_agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    folded TEXT NOT NULL,
    rank INTEGER NOT NULL,
    verified_at BIGINT,
    label TEXT NOT NULL,
    CONSTRAINT pk_person_addresses PRIMARY KEY (id),
    CONSTRAINT uq_person_addresses_person_id_channel_folded UNIQUE (person_id, channel, folded),
    CONSTRAINT fk_person_addresses_person_id FOREIGN KEY(person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE INDEX ix_person_addresses_owner_agent_folded_channel ON {shared}person_addresses (owner_agent, folded, channel);

CREATE UNIQUE INDEX ix_person_addresses_verified ON {shared}person_addresses (owner_agent, channel, folded) WHERE verified_at IS NOT NULL;

CREATE TABLE {shared}presentations (
    id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    status TEXT NOT NULL,
    revision INTEGER NOT NULL,
    delivery_id TEXT,
    hold TEXT,
    failure TEXT,
    toggles TEXT NOT NULL,
    due_at BIGINT,
    fence INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    words_awaited_at BIGINT,
    CONSTRAINT pk_presentations PRIMARY KEY (id),
    CONSTRAINT uq_presentations_question_id_person_id_channel UNIQUE (question_id, person_id, channel),
    CONSTRAINT ck_presentations_status CHECK (status IN ('planned', 'shown', 'uncertain', 'failed', 'closing', 'closed', 'left')),
    CONSTRAINT ck_presentations_hold CHECK (hold IN ('quiet', 'in_line', 'approval', 'away', 'ended')),
    CONSTRAINT fk_presentations_question_id FOREIGN KEY(question_id) REFERENCES {shared}questions (id) ON DELETE CASCADE
);

CREATE INDEX ix_presentations_delivery_id ON {shared}presentations (delivery_id);

CREATE INDEX ix_presentations_due_at ON {shared}presentations (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX ix_presentations_words_awaited_at ON {shared}presentations (channel, address) WHERE words_awaited_at IS NOT NULL;

CREATE TABLE {shared}push_devices (
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    person_id TEXT NOT NULL,
    name TEXT NOT NULL,
    mark TEXT NOT NULL,
    sealed TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    ended_at BIGINT,
    CONSTRAINT pk_push_devices PRIMARY KEY (id),
    CONSTRAINT uq_push_devices_channel_mark UNIQUE (channel, mark),
    CONSTRAINT fk_push_devices_person_id FOREIGN KEY(person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE INDEX ix_push_devices_person_id ON {shared}push_devices (person_id);

CREATE TABLE {shared}question_attempts (
    id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    provider_event_id TEXT NOT NULL,
    presentation_id TEXT,
    person_id TEXT,
    person_name TEXT NOT NULL,
    assurance TEXT NOT NULL,
    actor TEXT,
    operator BOOLEAN NOT NULL,
    flags TEXT NOT NULL,
    revision INTEGER,
    said TEXT,
    said_at BIGINT,
    heard_at BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT pk_question_attempts PRIMARY KEY (id),
    CONSTRAINT uq_question_attempts_channel_provider_event_id UNIQUE (channel, provider_event_id),
    CONSTRAINT ck_question_attempts_verdict CHECK (verdict IN ('accepted', 'not_yet', 'late', 'lost_race', 'invalid', 'unauthorised')),
    CONSTRAINT fk_question_attempts_question_id FOREIGN KEY(question_id) REFERENCES {shared}questions (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_question_attempts_accepted ON {shared}question_attempts (question_id) WHERE verdict = 'accepted';

CREATE INDEX ix_question_attempts_question_id ON {shared}question_attempts (question_id, id);

CREATE TABLE {shared}question_events (
    position BIGINT NOT NULL,
    question_id TEXT NOT NULL,
    asker TEXT NOT NULL,
    event_type TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_question_events PRIMARY KEY (position),
    CONSTRAINT fk_question_events_question_id FOREIGN KEY(question_id) REFERENCES {shared}questions (id) ON DELETE CASCADE
);

CREATE INDEX ix_question_events_asker_position ON {shared}question_events (asker, position);

CREATE INDEX ix_question_events_question_id ON {shared}question_events (question_id, position);

CREATE TABLE {shared}question_people (
    question_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    name TEXT NOT NULL,
    added TEXT NOT NULL,
    place INTEGER NOT NULL,
    planned_at BIGINT,
    CONSTRAINT pk_question_people PRIMARY KEY (question_id, person_id),
    CONSTRAINT ck_question_people_added CHECK (added IN ('asked', 'escalated')),
    CONSTRAINT fk_question_people_question_id FOREIGN KEY(question_id) REFERENCES {shared}questions (id) ON DELETE CASCADE
);

CREATE INDEX ix_question_people_person_id ON {shared}question_people (person_id, question_id);

CREATE INDEX ix_question_people_unplanned ON {shared}question_people (question_id) WHERE planned_at IS NULL;

CREATE TABLE {shared}sign_in_grants (
    person_id TEXT NOT NULL,
    invited_by TEXT NOT NULL,
    invited_at BIGINT NOT NULL,
    CONSTRAINT pk_sign_in_grants PRIMARY KEY (person_id),
    CONSTRAINT fk_sign_in_grants_person_id FOREIGN KEY(person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
);

CREATE TABLE {shared}webhook_deliveries (
    id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT ck_webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'dead_lettered')),
    CONSTRAINT fk_webhook_deliveries_subscription_id FOREIGN KEY(subscription_id) REFERENCES {shared}webhook_subscriptions (id) ON DELETE CASCADE
);

CREATE INDEX ix_webhook_deliveries_next_at ON {shared}webhook_deliveries (next_at) WHERE status = 'pending';

CREATE INDEX ix_webhook_deliveries_queue ON {shared}webhook_deliveries (subscription_id, next_at, id) WHERE status = 'pending';

CREATE INDEX ix_webhook_deliveries_subscription_id ON {shared}webhook_deliveries (subscription_id);

CREATE TABLE {shared}presentation_parts (
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    presentation_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    CONSTRAINT pk_presentation_parts PRIMARY KEY (channel, address, provider_id),
    CONSTRAINT fk_presentation_parts_presentation_id FOREIGN KEY(presentation_id) REFERENCES {shared}presentations (id) ON DELETE CASCADE
);

CREATE INDEX ix_presentation_parts_presentation_id ON {shared}presentation_parts (presentation_id, part);

CREATE TABLE {shared}presentation_tokens (
    token_hash TEXT NOT NULL,
    presentation_id TEXT NOT NULL,
    action TEXT NOT NULL,
    option TEXT,
    revision INTEGER NOT NULL,
    CONSTRAINT pk_presentation_tokens PRIMARY KEY (token_hash),
    CONSTRAINT ck_presentation_tokens_action CHECK (action IN ('option', 'toggle', 'send', 'other', 'decline', 'open')),
    CONSTRAINT fk_presentation_tokens_presentation_id FOREIGN KEY(presentation_id) REFERENCES {shared}presentations (id) ON DELETE CASCADE
);

CREATE INDEX ix_presentation_tokens_presentation_id ON {shared}presentation_tokens (presentation_id);
