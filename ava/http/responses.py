"""JSON responses."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse

from ava.schemas.encoding import encode


class Json(JSONResponse):
    """The response class of every route."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return encode(content)
