"""Contents of files in the REST of Alluxio's master: a real API server forwards to it for the storage service alone."""

import asyncio

import httpx
import pytest

from ava.db.database import open_database
from ava.files.cache_stats import BROWSE, MOUNTS
from ava.kube.client import Client
from ava.kube.errors import Denied
from ava.kube.resources import SERVICES
from tests.platform.alluxio import Alluxio
from tests.platform.cache_services import PROXY, SERVICE, STORAGE, SYSTEM, measured, own_address
from tests.unit.ava import migrated_database
from tests.unit.ava.operator.fake_cluster import furnish, now

MIB = 2**20
SECRET = b"a tenant must not read this\n"
LOGS = "/api/v1/master/webui_logs"
READS = {"a file": (BROWSE, {"path": "/faces/a"}), "a log": (LOGS, {"path": "master.log"})}
OTHERS = {
    "a tenant's pod": "system:serviceaccount:team:default",
    "the API's pod": f"system:serviceaccount:{SYSTEM}:api",
    "the operator": f"system:serviceaccount:{SYSTEM}:operator",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that holds one of two files of a data set."""
    with Alluxio(tmp_path_factory.mktemp("alluxio"), address=own_address()) as it:
        folder = it.folder / "lib/root/faces/more"
        folder.mkdir(parents=True)
        (folder.parent / "a").write_bytes(SECRET.ljust(3 * MIB, b"."))
        (folder / "b").write_bytes(b"." * MIB)
        (it.folder / "log/master.log").write_bytes(SECRET)
        it.run("fs", "copyToLocal", "/faces/a", str(it.folder / "read"))
        it.until(lambda: "100%" in it.run("fs", "ls", "/faces/a"), 30)
        yield it


async def get(client, path, params):
    async with client.stream("GET", path, params=params) as answer:
        return await answer.read()


@pytest.mark.parametrize("read", READS)
def test_the_master_itself_gives_contents_to_any_client(cache, read):
    """Why no pod may reach its port (tests/unit/filter/test_filter_rules.py)."""
    page, params = READS[read]
    given = httpx.get(cache.master + page, params=params, trust_env=False)
    assert SECRET.decode().strip() in given.json()["fileData"]


def test_the_storage_service_measures_through_the_api_server(published, cache, tmp_path):
    db = open_database(migrated_database.copied(tmp_path))
    furnish(db)
    id = db.data_sets.create("ann", "faces", {"kind": "cache", "path": "faces"}, now()).id
    gone = db.data_sets.create("ann", "gone", {"kind": "cache", "path": "gone"}, now()).id

    try:
        measured(published, db)
        seen = db.external_sources.get(id)
        assert (seen.size, seen.cached, seen.trouble) == (4 * MIB, 3 * MIB, "")
        assert db.external_sources.get(gone).size is None
        assert "nothing at /gone" in db.external_sources.get(gone).trouble
    finally:
        db.close()


@pytest.mark.parametrize("who", OTHERS)
@pytest.mark.parametrize("read", READS)
def test_the_api_server_forwards_for_no_other_account(published, who, read):
    page, params = READS[read]

    async def ask():
        async with Client(published.account(OTHERS[who])) as client:
            with pytest.raises(Denied):
                await get(client, PROXY + page, params)
            with pytest.raises(Denied):
                await get(client, SERVICES.path(SYSTEM, f"http:{SERVICE}:", "proxy") + page, params)

    asyncio.run(ask())


def test_the_storage_service_may_neither_write_there_nor_ask_other_services(published):
    async def ask():
        async with Client(published.account(STORAGE)) as client:
            assert b"mountPointInfos" in await get(client, PROXY + MOUNTS, {})
            with pytest.raises(Denied):
                await client.request("POST", f"{PROXY}/api/v1/master/logLevel?logName=alluxio&level=DEBUG")
            for space, name in (
                ("default", "kubernetes"),
                (SYSTEM, "storage"),
                (SYSTEM, "cache-1"),
                ("default", SERVICE),
            ):
                with pytest.raises(Denied):
                    await get(client, SERVICES.path(space, name, "proxy") + MOUNTS, {})

    asyncio.run(ask())
