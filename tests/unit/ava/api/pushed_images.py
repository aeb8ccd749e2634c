"""A registry that answers what a test says, in place of what counts and of what removes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx

from ava.services.config import UserRegistry
from ava.services.registry.images import PushedImages
from ava.services.registry.tokens import signer
from bench.control_plane import Authority
from tests.unit.ava.api.site import Site

SERVICE = "registry.site:5004"
PULLED = "registry.site:5000"
DIGEST = "sha256:" + "a" * 64


def image(
    repository: str = "users/ann/torch", *tags: str, digest: str = DIGEST, **more: Any
) -> dict[str, Any]:
    """Return an image as it is counted."""
    row = {"repository": repository, "digest": digest, "tags": list(tags), "size": 5, "pushed": 1.5e9}
    return row | {"parts": []} | more


class Counted:
    """What is there; ``removed`` has the paths that were deleted.

    Attributes:
        accounts: owner to what is reported of it; anything else is reported as it is.
        status: of the registry's answer to a deletion.
    """

    def __init__(self, accounts: dict[str, Any] | None = None) -> None:
        self.accounts, self.removed, self.status = accounts or {}, list[str](), 202

    def count(self, request: httpx.Request) -> httpx.Response:
        owner = request.url.path.removeprefix("/owners/")
        empty = {"owner": owner, "limit": 100, "used": 0, "waiting": 0, "countless": False, "images": []}
        report = self.accounts.get(owner, {})
        return httpx.Response(200, json=empty | report) if isinstance(report, dict) else report

    def remove(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"].startswith("Bearer ")
        self.removed.append(request.url.path)
        return httpx.Response(self.status)


def pushing(site: Site, accounts: dict[str, Any] | None = None) -> Counted:
    """Let a site's users push images; return what is there."""
    folder = site.folder / "tokens"
    folder.mkdir(exist_ok=True)
    certificate, key = Authority(folder).issue("ava", "ava")
    settings = UserRegistry(
        host=SERVICE, pulled=PULLED, space="registry.site:5006", key=key, certificate=certificate
    )
    counted = Counted(accounts)
    site.services.config = site.services.config.model_copy(update={"user_registry": settings})

    def client(answers: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
        return httpx.Client(base_url="https://registry.site", transport=httpx.MockTransport(answers))

    site.services.pushed = PushedImages(
        signer(settings), client(counted.count), client(counted.remove), lambda: datetime.now(UTC)
    )
    return counted
