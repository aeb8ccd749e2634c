"""Claims of data sets that are snapshots: asked for, reported when they are there and why not, removed with the data set."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from ava.files.snapshots import Snapshots
from ava.kube.client import Client
from ava.kube.errors import Fenced, Unavailable
from tests.unit.ava.db.world import NOW, later
from tests.unit.ava.kube.fake_api import FakeApi, Fault

SPACE = "ava-system"
SOURCE = {"kind": "rbd", "image": "faces", "snapshot": "v1"}


class Room:
    """A database with one such data set, an API server, and what looks after both."""

    def __init__(self, world, api, client):
        self.db, self.api = world.db, api
        self.id = self.db.data_sets.create("ann", "faces", SOURCE, NOW).id
        self.it = Snapshots(self.db, client, SPACE, lambda: later(1))

    @property
    def claims(self):
        return self.api.all("persistentvolumeclaims")

    async def change(self, phase=None, volume=None, **annotations):
        """Have the claim be so, as Kubernetes does it."""
        (claim,) = self.claims
        claim["status"] = {"phase": phase} if phase else {}
        claim["metadata"]["annotations"] |= annotations
        if volume:
            claim["spec"]["volumeName"] = volume

    async def fails_with(self, message, at="2026-11-24T10:00:00Z"):
        (claim,) = self.claims
        await self.api.put(
            "events",
            {
                "metadata": {"name": f"e{at}", "namespace": SPACE},
                "involvedObject": {"uid": claim["metadata"]["uid"]},
                "reason": "ProvisioningFailed",
                "message": message,
                "lastTimestamp": at,
            },
        )

    @property
    def own(self):
        (claim,) = self.claims
        return f"pvc-{claim['metadata']['uid']}"

    @property
    def seen(self):
        return self.db.external_sources.get(self.id)


@pytest.fixture
def inside(world):
    def run(test):
        @asynccontextmanager
        async def room():
            api = FakeApi()
            async with api.serve() as access, Client(access) as client:
                await api.put("namespaces", {"metadata": {"name": SPACE}})
                yield Room(world, api, client)

        async def go():
            async with room() as one:
                await test(one)

        asyncio.run(go())

    return run


def test_a_snapshot_is_asked_for_once_by_a_claim_for_readers_and_reported_when_it_is_there(inside):
    async def test(room):
        assert await room.it.look() == 1
        assert await room.it.look() == 1
        (claim,) = room.claims
        assert claim["metadata"]["annotations"] == {"avadm.io/clone-of-snapshot": "faces@v1"}
        assert claim["spec"]["accessModes"] == ["ReadOnlyMany"]
        assert room.seen.volume == ""
        await room.change("Bound", room.own)
        assert await room.it.look() == 0
        assert room.seen.volume == room.own

    inside(test)


def test_the_last_reason_why_it_is_not_there_is_kept_longer_than_events_are(inside):
    async def test(room):
        await room.it.look()
        await room.fails_with("there is no image rbd/faces")
        await room.fails_with("the image rbd/faces has no snapshot v1", "2026-11-24T11:00:00Z")
        await room.it.look()
        assert room.seen.trouble == "the image rbd/faces has no snapshot v1"
        room.api.collections["events"].clear()
        await room.it.look()
        assert room.seen.trouble == "the image rbd/faces has no snapshot v1"
        await room.change("Bound", room.own)
        await room.it.look()
        assert room.seen.trouble == ""

    inside(test)


def test_a_volume_that_was_removed_is_made_again_and_nothing_is_mounted_meanwhile(inside):
    async def test(room):
        await room.it.look()
        await room.change("Bound", room.own)
        await room.it.look()
        await room.change("Lost")
        await room.it.look()
        assert (room.claims, room.seen.volume) == ([], "")
        await room.it.look()
        assert len(room.claims) == 1

    inside(test)


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Bound", "volume": "pvc-of-somebody"},
        {"phase": "Bound", "avadm.io/clone-of-snapshot": "x@y"},
    ],
    ids=["another volume", "another snapshot"],
)
def test_what_is_not_of_the_claim_is_never_mounted(inside, change):
    async def test(room):
        await room.it.look()
        await room.change(**change)
        await room.it.look()
        assert room.seen.volume == ""
        assert room.seen.trouble

    inside(test)


def test_the_claim_goes_with_the_data_set_and_nothing_else_does(inside):
    async def test(room):
        other = room.db.data_sets.create("ann", "other", SOURCE, NOW).id
        await room.it.look()
        room.db.data_sets.delete(room.id, NOW)
        await room.it.look()
        assert [c["metadata"]["name"] for c in room.claims] == [f"data-{other}"]
        await room.it.look()
        assert [one.id for one in room.db.external_sources.list("rbd")] == [other]

    inside(test)


def test_what_kubernetes_refuses_is_reported_and_what_it_cannot_answer_comes_again(inside):
    async def test(room):
        def refuse(method, path):
            if method == "POST":
                raise Fault(403, "Forbidden", "quota")

        room.api.before = refuse
        assert await room.it.look() == 1
        assert "cannot be asked for" in room.seen.trouble

        def down(method, path):
            raise Fault(503, "ServiceUnavailable")

        room.api.before = down
        with pytest.raises(Unavailable):
            await room.it.look()

    inside(test)


def test_who_does_not_lead_any_more_makes_and_removes_nothing(inside):
    async def test(room):
        def over():
            raise Fenced("another one leads")

        room.it.client = room.it.client.guarded(over)
        with pytest.raises(Fenced):
            await room.it.look()
        assert room.claims == []

    inside(test)
