"""A run is started while its image is deleted: one of the two waits, and no run is there whose image is gone.

Against a real registry: tests/platform/api/test_pushed_images.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event

import httpx
import pytest

from ava.services.registry import deletions
from ava.services.registry.client import Registries, Registry
from tests.unit.ava.api.pushed_images import DIGEST, PULLED, image, pushing
from tests.unit.ava.api.site import codes
from tests.unit.ava.served import Served

NAME = "users/ann/torch"


@dataclass
class Town:
    """A registry with one image; each of the two may be reported when it is asked, before it answers.

    Attributes:
        removing, asking: called before it removes the image, and before it tells of it.
        status: of its answer to a removal.
    """

    served: Served
    pool: ThreadPoolExecutor
    there: bool = True
    removing: Callable[[], None] = lambda: None
    asking: Callable[[], None] = lambda: None
    status: int = 202
    tags: list[str] = field(default_factory=lambda: ["1"])

    def remove(self, request: httpx.Request) -> httpx.Response:
        self.removing()
        if self.status == httpx.codes.ACCEPTED:
            self.there = False
        return httpx.Response(self.status)

    def tell(self, request: httpx.Request) -> httpx.Response:
        if "/blobs/" in request.url.path:
            return httpx.Response(200, json={"config": {}})
        self.asking()
        found = {"config": {"digest": "sha256:" + "c" * 64}}
        return httpx.Response(
            200 if self.there else 404, json=found, headers={"docker-content-digest": DIGEST}
        )

    def count(self, request: httpx.Request) -> httpx.Response:
        images = [image(NAME, *self.tags)] if self.there else []
        report = {"owner": "users/ann", "limit": 100, "used": 0, "waiting": 0, "images": images}
        return httpx.Response(200, json=report)

    def ask(self, method: str, path: str, **more: object) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.served.token('ann')}"}
        address = f"{self.served.url}/api/v1{path}"
        return httpx.request(method, address, headers=headers, timeout=30, **more)  # type: ignore[arg-type]

    def start(self, name: str = "own") -> httpx.Response:
        spec = {"image": f"{NAME}:1", "command": ["true"]}
        return self.ask("POST", "/runs", json={"name": name, "spec": spec})

    def delete(self) -> httpx.Response:
        return self.ask("DELETE", f"/pushed-images/{NAME}:1")

    def at_once(self, what: Callable[[], httpx.Response]) -> Future[httpx.Response]:
        return self.pool.submit(what)


@pytest.fixture
def town(served: Served) -> Iterator[Town]:
    pushing(served)
    served.token("ann")
    with ThreadPoolExecutor(2) as pool:
        made = Town(served, pool)

        def client(answers: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
            return httpx.Client(base_url="https://registry.site", transport=httpx.MockTransport(answers))

        assert served.services.pushed is not None
        served.services.pushed.space, served.services.pushed.registry = (
            client(made.count),
            client(made.remove),
        )
        served.services.registries = Registries({PULLED: Registry()}, httpx.MockTransport(made.tell))
        yield made


def runs(town: Town) -> int:
    return len(town.served.db.runs.list().items)


def test_first_the_run_then_the_deletion(town: Town) -> None:
    assert town.start().status_code == 201
    assert codes(town.delete()) == ["image-in-use"]
    assert town.there


def test_first_the_deletion_then_the_run(town: Town) -> None:
    assert town.delete().status_code == 200
    assert codes(town.start()) == ["image-unknown"]
    assert (runs(town), len(town.served.db.definitions.list().items)) == (0, 0)


def test_a_start_waits_for_the_deletion_that_has_begun_and_is_refused(town: Town) -> None:
    """The deletion has looked, and nothing used the image; only then comes the run."""
    asked, started = Event(), list[Future[httpx.Response]]()

    def meanwhile() -> None:
        started.append(town.at_once(town.start))
        # The start cannot have asked the registry before this has removed the image.
        assert not asked.wait(1)

    town.removing, town.asking = meanwhile, asked.set
    assert town.delete().status_code == 200
    assert codes(started[0].result(20)) == ["image-unknown"]
    assert runs(town) == 0


def test_a_deletion_is_refused_once_the_start_has_begun(town: Town) -> None:
    """The start has not even asked for the image; it has claimed its repository already."""
    refused = list[httpx.Response]()
    town.asking = lambda: refused.append(town.at_once(town.delete).result(20)) if not refused else None
    assert town.start().status_code == 201
    assert codes(refused[0]) == ["image-in-use"]
    assert town.there


def test_a_removal_without_an_answer_may_be_done_yet_and_counts_for_two_minutes(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "PATIENCE", 0.1)
    town.status = 500
    assert codes(town.delete()) == ["registry-timeout"]
    answer = town.start()
    assert (answer.status_code, codes(answer)) == (409, ["image-being-deleted"])
    assert "Try again" in answer.json()["problems"][0]["remedy"]
    # What no one takes here: messages for the storage service.
    town.served.db.outbox.sweep(town.served.now + timedelta(minutes=1))
    town.served.now += timedelta(minutes=2, seconds=1)
    assert town.start().status_code == 201
    assert town.served.db.outbox.sweep(town.served.now) == 1


def test_a_deletion_that_was_refused_keeps_no_one_waiting(town: Town) -> None:
    town.start()
    assert codes(town.delete()) == ["image-in-use"]
    town.tags = ["2"]
    assert codes(town.delete()) == ["not-found"]
    assert not town.served.db.images.is_being_deleted(NAME, town.served.now)
