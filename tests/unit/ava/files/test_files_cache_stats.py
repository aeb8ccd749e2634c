"""How much of a data set the cache holds, as its master tells it; what it does not tell leaves what was last known."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web

from ava.files import cache_stats
from ava.files.cache_stats import CacheStats, NotReported, amount
from ava.kube.access import Access
from ava.kube.client import Client
from tests.unit.ava.db.world import NOW, later
from tests.unit.fakes.clock import Clock

MIB = 2**20
SPACE = "ava-system"
PROXY = f"/api/v1/namespaces/{SPACE}/services/{{service}}/proxy"


def file(name, size, share):
    return {
        "absolutePath": f"/s3/faces/{name}",
        "isDirectory": False,
        "size": size,
        "inAlluxioPercentage": share,
    }


def folder(name):
    return {
        "absolutePath": f"/s3/faces/{name}",
        "isDirectory": True,
        "size": "0B",
        "inAlluxioPercentage": 100,
    }


def mount(point, kind, capacity):
    return {"mountPoint": point, "ufsType": kind, "ufsCapacityBytes": capacity}


class Master:
    """A master of Alluxio behind an API server: folders by path; ``answer`` replaces them, ``others`` are of other masters."""

    def __init__(self):
        self.folders, self.asked, self.answer = {}, [], None
        self.others = {}
        self.mounts = [mount("/", "local", "9.00GB"), mount("/s3", "s3", "-1B")]

    async def browse(self, request):
        if other := self.others.get(request.match_info["service"]):
            return other()
        path = request.query["path"]
        self.asked.append(path)
        if self.answer is not None:
            return self.answer()
        if path not in self.folders:
            return web.json_response({"invalidPathError": f"Error: Invalid Path {path}", "fileInfos": None})
        entries = self.folders[path][: int(request.query["limit"])]
        return web.json_response({"invalidPathError": "", "fileInfos": entries})

    async def mounted(self, request):
        if self.mounts is None:
            return web.Response(status=500)
        return web.json_response({"mountPointInfos": self.mounts})

    @asynccontextmanager
    async def serve(self):
        app = web.Application()
        app.router.add_get(PROXY + cache_stats.BROWSE, self.browse)
        app.router.add_get(PROXY + cache_stats.MOUNTS, self.mounted)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            async with Client(Access(f"http://127.0.0.1:{runner.addresses[0][1]}")) as client:
                yield client
        finally:
            await runner.cleanup()


@pytest.fixture
def master():
    made = Master()
    made.folders = {
        "/s3/faces": [file("a", "3.00MB", 100), file("b", "1.00MB", 50), folder("more")],
        "/s3/faces/more": [file("more/c", "512B", 0)],
    }
    return made


def looked(world, master, *, services=("cache-0",), at=NOW, again=None, source=None):
    """Look once, and once more at ``again``; return the id of the data set."""
    id = world.db.data_sets.create("ann", "faces", source or {"kind": "cache", "path": "s3/faces"}, NOW).id
    clock = Clock(at)

    async def go():
        async with master.serve() as client:
            it = CacheStats(world.db, client, SPACE, services, clock)
            await it.look()
            if again is not None:
                clock.now = again
                await it.look()

    asyncio.run(go())
    return id


def test_the_share_is_of_all_files_in_all_folders(world, master):
    seen = world.db.external_sources.get(looked(world, master))
    assert (seen.size, seen.cached) == (4 * MIB + 512, 3 * MIB + MIB // 2)
    assert (seen.seen, seen.trouble) == (NOW, "")


def test_it_is_asked_again_after_a_while_and_not_before(world, master):
    looked(world, master, again=later(60))
    assert master.asked == ["/s3/faces", "/s3/faces/more"]
    looked(world, master, again=NOW + timedelta(minutes=11))
    assert len(master.asked) == 4


ANSWERS = {
    "an error": lambda: web.Response(status=500),
    "no JSON": lambda: web.Response(text="<html>"),
    "a list": lambda: web.json_response([]),
    "a redirect": lambda: web.Response(status=302, headers={"location": "http://127.0.0.1:1/"}),
    "files without sizes": lambda: web.json_response({"fileInfos": [{"isDirectory": False}]}),
    "sizes in words": lambda: web.json_response({"fileInfos": [file("a", "large", 1)]}),
}


@pytest.mark.parametrize("answer", sorted(ANSWERS))
def test_what_it_does_not_tell_leaves_what_was_last_known_with_its_age(world, master, answer):
    id = looked(world, master)
    before = world.db.external_sources.get(id)
    master.answer = ANSWERS[answer]
    looked(world, master, at=NOW + timedelta(hours=1))
    seen = world.db.external_sources.get(id)
    assert (seen.size, seen.cached, seen.seen) == (before.size, before.cached, before.seen)
    assert "the cache" in seen.trouble


def test_what_is_not_there_is_known_to_be_missing_since_when(world, master):
    id = looked(world, master)
    master.answer = lambda: web.json_response({"invalidPathError": "gone"})
    looked(world, master, at=NOW + timedelta(hours=1))
    seen = world.db.external_sources.get(id)
    assert (seen.size, seen.cached, seen.seen) == (None, None, NOW + timedelta(hours=1))
    assert seen.trouble == "the cache has nothing at /s3/faces: gone"


UNLED = "The service is temporarily unavailable. Journal has been closed"
OTHERS = {
    "no connection": lambda: web.json_response(
        {"kind": "Status", "reason": "ServiceUnavailable"}, status=503
    ),
    "no leader": lambda: web.json_response({"invalidPathError": UNLED, "fileInfos": None}),
}


@pytest.mark.parametrize("other", sorted(OTHERS))
def test_of_several_masters_the_one_that_leads_is_believed(world, master, other):
    master.others["cache-0"] = OTHERS[other]
    id = looked(world, master, services=("cache-0", "cache-1"))
    assert world.db.external_sources.get(id).size == 4 * MIB + 512


def test_while_no_master_leads_what_was_last_known_stays(world, master):
    id = looked(world, master)
    master.answer = OTHERS["no leader"]
    looked(world, master, at=NOW + timedelta(hours=1))
    seen = world.db.external_sources.get(id)
    assert (seen.size, seen.seen) == (4 * MIB + 512, NOW)
    assert seen.trouble == "the cache does not say what it holds: no master leads"


def test_without_a_master_it_is_shown(world, master):
    id = looked(world, master, services=())
    assert "no master is known" in world.db.external_sources.get(id).trouble


HDFS = {"kind": "hdfs", "store": "hdfs", "path": "faces"}


@pytest.mark.parametrize("source", [HDFS, {"kind": "cache", "path": "hdfs/faces"}], ids=lambda s: s["kind"])
def test_an_hdfs_is_measured_and_one_that_does_not_answer_is_not_taken_for_an_empty_one(
    world, master, source
):
    master.folders = {"/hdfs/faces": [file("a", "3.00MB", 100)]}
    master.mounts += [mount("/hdfs", "hdfs", "9.00TB"), mount("/hdfs2", "hdfs", "-1B")]
    seen = world.db.external_sources.get(id := looked(world, master, source=source))
    assert (seen.size, seen.cached, seen.trouble) == (3 * MIB, 3 * MIB, "")
    master.folders, master.asked = {"/hdfs/faces": []}, []
    master.mounts[2] = mount("/hdfs", "hdfs", "-1B")
    looked(world, master, at=NOW + timedelta(hours=1), source=source)
    seen = world.db.external_sources.get(id)
    assert (seen.size, seen.seen) == (3 * MIB, NOW)
    assert "no namenode of /hdfs answers" in seen.trouble
    # Each folder would be waited for.
    assert master.asked == []
    master.mounts = None
    if source is HDFS:
        looked(world, master, at=NOW + timedelta(hours=2), source=source)
        assert world.db.external_sources.get(id).size == 3 * MIB


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_FOLDERS"])
def test_huge_data_sets_are_looked_at_in_part_and_that_is_shown(world, master, monkeypatch, limit):
    monkeypatch.setattr(cache_stats, limit, 1)
    seen = world.db.external_sources.get(looked(world, master))
    assert seen.size and "only its first" in seen.trouble


def test_an_answer_without_end_is_not_kept_in_memory(world, master, monkeypatch):
    monkeypatch.setattr(cache_stats, "LARGEST", 100)
    assert "too long" in world.db.external_sources.get(looked(world, master)).trouble


@pytest.mark.parametrize(
    ("text", "bytes_"), [("0B", 0), ("1023B", 1023), ("12.50MB", 13107200), ("1.00PB", 2**50)]
)
def test_sizes_are_read_as_alluxio_writes_them(text, bytes_):
    assert amount(text) == bytes_


@pytest.mark.parametrize("text", ["", "MB", "-1B", "1e9B", "1 B", "1B\n"])
def test_what_is_no_size_is_not_guessed(text):
    with pytest.raises(NotReported):
        amount(text)
