"""What the parts of the client share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from ava.client.transport import Transport
from ava.schemas.common import Paged

M = TypeVar("M", bound=BaseModel)


class Resource:
    """A part of the client."""

    def __init__(self, send: Transport) -> None:
        self._send = send

    def _one(self, shape: type[M], method: str, path: str, **more: Any) -> M:
        return shape.model_validate_json(self._send.send(method, path, **more).content)

    def _list(self, shape: type[M], path: str, params: Mapping[str, Any] | None = None) -> list[M]:
        content = self._send.send("GET", path, params=params).content
        return TypeAdapter(list[shape]).validate_json(content)  # type: ignore[valid-type]

    def _page(self, shape: type[M], path: str, params: Mapping[str, Any]) -> Paged[M]:
        return Paged[shape].model_validate_json(self._send.send("GET", path, params=params).content)  # type: ignore[valid-type]

    def _all(self, shape: type[M], path: str, params: Mapping[str, Any], most: int | None) -> Iterator[M]:
        """Yield rows of all pages, at most so many."""
        after: str | None = None
        left = most
        while left is None or left > 0:
            size = 200 if left is None else min(left, 200)
            page = self._page(shape, path, {**params, "limit": size, "after": after})
            yield from page.items
            if page.next is None:
                return
            after = page.next
            left = None if left is None else left - len(page.items)
