"""An AVA whose users push images: a real registry with the role's configuration, what counts beside it, tokens of a real API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ava.services.config import UserRegistry
from ava.services.registry.client import Registries, Registry, connected
from ava.services.registry.images import PushedImages
from ava.services.registry.tokens import Signer, signer
from tests.docker_client import Docker
from tests.platform.registry import Process, Space, folder_of
from tests.unit.ava.served import Served

SERVICE = "registry.site:5004"
REALM = "/api/v1/registry/token"


@dataclass
class Town:
    """The whole.

    Attributes:
        users, nodes: the process that users push to, and the one that nodes pull from, over the same images.
        space: what counts, over them too.
    """

    served: Served
    users: Process
    nodes: Process
    space: Space
    ca: Path
    signer: Signer
    folder: Path

    def docker(self, name: str | None) -> Docker:
        secret = self.served.token(name) if name else ""
        return Docker(self.users.url, self.ca, name, secret)

    def token(self, name: str, *scope: str) -> str:
        made = self.docker(name).fetch(self.served.url + REALM, SERVICE, list(scope))
        assert made is not None
        return made

    def with_token(self, token: str) -> Docker:
        return Docker(self.users.url, self.ca, token=token)

    def count(self, limits: Mapping[str, int | None], percent: int = 0) -> None:
        """Start what counts (again), with these limits; ``percent`` of the disk are to be free."""
        self.space.close()
        self.space = Space(self.folder, limits, percent)
        self.ask_space()

    def ask_space(self, certificate: str = "ava") -> None:
        """Let the API ask what counts, with one of the readers' certificates."""
        tls = self.folder / "tls"
        shown = Registry(ca=self.ca, certificate=tls / f"{certificate}.crt", key=tls / f"{certificate}.key")
        users = self.users.url.partition("://")[2]
        self.served.services.pushed = PushedImages(
            self.signer,
            connected(f"localhost:{self.space.port}", shown, seconds=5),
            connected(users, Registry(ca=self.ca), seconds=5),
            lambda: self.served.now,
        )

    def close(self) -> None:
        for one in (self.users, self.nodes, self.space, self.served):
            one.close()


def town_in(root: Path, limits: Mapping[str, int | None] | None = None) -> Town:
    """Return it; ``limits`` of what users may have, none where not given."""
    folder, tls, tokens = folder_of(root)
    (folder / "readers.crt").write_bytes((folder / "tls/ca.crt").read_bytes())
    certificate, key = tokens.issue("ava", "ava")
    node = tls.issue("node", "node")
    tls.issue("ava", "registry:ava")
    served = Served(root)
    served.now = datetime.now(UTC)
    report = {"realm": served.url + REALM, "service": SERVICE, "issuer": "ava"}
    users = Process(folder, "users", registry_tokens=report)
    nodes = Process(folder, "reader")
    host = f"localhost:{nodes.port}"
    space = Space(folder, limits or {})
    settings = UserRegistry(
        host=SERVICE, pulled=host, space=f"localhost:{space.port}", key=key, certificate=certificate
    )
    served.services.config = served.services.config.model_copy(update={"user_registry": settings})
    ca = folder / "tls/ca.crt"
    served.services.registries = Registries({host: Registry(ca=ca, certificate=node[0], key=node[1])})
    made = Town(served, users, nodes, space, ca, signer(settings), folder)
    made.ask_space()
    return made
