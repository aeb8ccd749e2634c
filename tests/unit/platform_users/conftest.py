"""A platform behind a server, and `avadm ava` on a site that has it: the master of this site is the test."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from ava.client import Client
from ava.services.auth.caller import digest
from avadm.cli.main import App, cli
from avadm.platform_users import connect
from tests.unit.ava.served import Served
from tests.unit.cli.test_ava import SITE
from tests.unit.fakes.nodes import answer


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


@pytest.fixture
def root(served: Served) -> Iterator[Client]:
    with Client(served.url, token=served.token("root2")) as made:
        yield made


class Master:
    """Lets an administrator in, as the program in the API's pod does; records its calls."""

    def __init__(self, served: Served) -> None:
        self.served, self.sent, self.reply = served, [], None

    def run(self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Any:
        secret = (stdin or b"").decode().strip()
        self.sent.append((command, secret))
        if self.reply is not None:
            return answer(node, command, **self.reply)
        id = self.served.db.secrets.create("root2", "token", digest(secret), self.served.now, until=None)
        return answer(node, command, out=f"root2 {id}\n")

    def close(self, nodes: object = None) -> None:
        pass


@pytest.fixture
def master(served: Served, monkeypatch: pytest.MonkeyPatch) -> Master:
    made = Master(served)
    monkeypatch.setattr(App, "fleet", lambda self: made)
    monkeypatch.setattr(connect, "http_pinned", lambda *_: httpx.Client(base_url=served.url))
    return made


@pytest.fixture
def verb(tmp_path: Path, master: Master) -> Callable[..., Result]:
    folder = tmp_path / secrets.token_hex(4)
    folder.mkdir()
    (folder / "site.yml").write_text(SITE)

    def call(*words: str, people: str | None = None) -> Result:
        if people is not None:
            (folder / "people.yml").write_text(people)
        line = [str(folder / "people.yml") if w == "FILE" else w for w in words]
        return CliRunner().invoke(
            cli, ["--site", str(folder / "site.yml"), "ava", *line], standalone_mode=False
        )

    return call
