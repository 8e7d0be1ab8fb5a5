"""`HttpCall`: one request, and whether it left; for channels of any author, at a path that stays."""

from __future__ import annotations

from postroom.kernel.http.call import HttpAnswer, HttpCall

Answer = HttpAnswer

__all__ = ["Answer", "HttpAnswer", "HttpCall"]
