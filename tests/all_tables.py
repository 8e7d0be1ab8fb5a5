"""The one MetaData with every table in it, wherever its module lies."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import postroom
from postroom.kernel.database.schema import metadata as metadata

_PACKAGE = Path(postroom.__file__).parent
_TABLE = re.compile(r"\bTable\(\n? *\"")

for _file in sorted(_PACKAGE.rglob("*.py")):
    if _TABLE.search(_file.read_text(encoding="utf-8")):
        import_module(".".join(("postroom", *_file.relative_to(_PACKAGE).with_suffix("").parts)))
