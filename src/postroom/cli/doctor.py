"""`postroom doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.settings.load import from_process


def doctor(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Check Python, home, ports, database and credentials."""
    from postroom.app.examination import examine

    settings, _ = from_process({"home": home, "database_url": database})
    findings = asyncio.run(examine(settings))
    if json:
        say_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            advice = f"  → {finding.advice}" if finding.advice else ""
            say(f"{'ok     ' if finding.ok else 'problem'}  {finding.subject}: {finding.detail}{advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
