"""`postroom doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict

import typer

from postroom.cli.output import Database, Home, Json, Redis, Roster, say, say_json
from postroom.cli.progress import bar
from postroom.system.settings.load import from_process


def doctor(
    home: Home = None, database: Database = None, redis: Redis = None, roster: Roster = None, json: Json = False
) -> None:
    """Check Python, files, ports, loops, database, Redis, credentials, clock and display; exits with 1 on a problem."""
    from postroom.cli.doctor_checks.examination import examine

    settings, _ = from_process({"home": home, "database_url": database, "redis_url": redis, "roster": roster})
    with bar("Looking", quiet=json):
        findings = asyncio.run(examine(settings, os.environ))
    if json:
        say_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            advice = f"  → {finding.advice}" if finding.advice else ""
            say(f"{'ok     ' if finding.ok else 'problem'}  {finding.subject}: {finding.detail}{advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
