"""Notifications, preferences and deferred e-mails."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0003"
down_revision = "0002"

_TABLES = [
    """
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
        CONSTRAINT pk_notifications PRIMARY KEY (id),
        CONSTRAINT ck_notifications_message CHECK (length(message) BETWEEN 1 AND 500),
        CONSTRAINT ck_notifications_type CHECK (type IN ('reminder', 'info', 'warning')),
        CONSTRAINT ck_notifications_priority CHECK (priority IN ('high', 'medium', 'low'))
    )
    """,
    "CREATE INDEX ix_notifications_user_id_created_at_id ON {shared}notifications (user_id, created_at, id)",
    "CREATE INDEX ix_notifications_user_id_updated_at ON {shared}notifications (user_id, updated_at)",
    """
    CREATE INDEX ix_notifications_unread ON {shared}notifications (user_id)
        WHERE read_at IS NULL AND dismissed_at IS NULL
    """,
    """
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
        CONSTRAINT pk_notification_preferences PRIMARY KEY (user_id),
        CONSTRAINT ck_notification_preferences_delivery_channel CHECK
            (delivery_channel IN ('in_app', 'email', 'both')),
        CONSTRAINT ck_notification_preferences_quiet_hours CHECK
            ((quiet_hours_start IS NULL) = (quiet_hours_end IS NULL))
    )
    """,
    """
    CREATE TABLE {shared}deferred_emails (
        id TEXT NOT NULL,
        notification_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        deliver_after BIGINT NOT NULL,
        quiet BOOLEAN NOT NULL,
        batch_id TEXT,
        address TEXT,
        zone TEXT,
        fence INTEGER NOT NULL,
        lease_until BIGINT,
        attempts INTEGER NOT NULL,
        delivery_id TEXT,
        delivered_at BIGINT,
        failed_at BIGINT,
        cancelled_at BIGINT,
        error_message TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_deferred_emails PRIMARY KEY (id),
        CONSTRAINT uq_deferred_emails_notification_id UNIQUE (notification_id),
        CONSTRAINT fk_deferred_emails_notification_id FOREIGN KEY (notification_id)
            REFERENCES {shared}notifications (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_deferred_emails_due ON {shared}deferred_emails (deliver_after)
        WHERE delivered_at IS NULL AND failed_at IS NULL AND cancelled_at IS NULL
    """,
    """
    CREATE INDEX ix_deferred_emails_waiting ON {shared}deferred_emails (user_id)
        WHERE delivered_at IS NULL AND failed_at IS NULL AND cancelled_at IS NULL
    """,
    "CREATE INDEX ix_deferred_emails_batch_id ON {shared}deferred_emails (batch_id) WHERE batch_id IS NOT NULL",
]


def upgrade() -> None:
    run(_TABLES)


def downgrade() -> None:
    run(f"DROP TABLE {{shared}}{name}" for name in ("deferred_emails", "notification_preferences", "notifications"))
