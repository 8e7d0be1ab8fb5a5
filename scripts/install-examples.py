"""Give every example an environment of its own under .venv/examples, where its packages can be installed."""

from __future__ import annotations

import ast
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PREFIX = "# dependencies = "


def main() -> None:
    for example in sorted((ROOT / "examples").glob("*.py")):
        packages = dependencies(example)
        if not any(package.startswith("postroom") for package in packages):  # those run where Postroom runs
            install(ROOT / ".venv" / "examples" / example.stem, packages)


def dependencies(example: Path) -> list[str]:
    lines = [line for line in example.read_text(encoding="utf-8").splitlines() if line.startswith(PREFIX)]
    return list(ast.literal_eval(lines[0].removeprefix(PREFIX)))


def install(folder: Path, packages: list[str]) -> None:
    venv.create(folder, with_pip=True, clear=True)
    command = [folder / "bin" / "python", "-m", "pip", "-qq", "--disable-pip-version-check", "install", *packages]
    done = subprocess.run(command, check=False)  # noqa: S603 - the packages are named in our own files
    sys.stdout.write(f"{folder.name}: {'ready' if done.returncode == 0 else 'cannot be installed here'}\n")


if __name__ == "__main__":
    main()
