"""Data sets whose bytes lie elsewhere: administrators alone make them of what there is; readers see whether it is there."""

import pytest

from ava.domain.data_sets import ExternalSource
from tests.unit.ava.api.site import NOW, Site, codes, problems

SNAPSHOT = {"kind": "rbd", "image": "faces", "snapshot": "v1"}
EXPORT = {"kind": "nfs", "server": "nfs.test", "path": "/export/faces"}
CACHED = {"kind": "cache", "path": "s3/faces"}
HDFS = {"kind": "hdfs", "store": "big", "path": "sets/faces"}
CONFIG = {"snapshots": True, "nfs_servers": ["nfs.test", "10.0.0.9"], "hdfs_stores": ["big", "hdfs"]}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, config=CONFIG)
    yield made
    made.close()


def make(site, source, who="root2", name="faces"):
    return site.call("POST", "/data-sets", who, json={"name": name, "source": source})


@pytest.mark.parametrize("source", [SNAPSHOT, EXPORT, CACHED, HDFS], ids=lambda s: s["kind"])
def test_administrators_alone_make_them_and_share_them(site, source):
    for who in ("ann", "ben"):
        assert codes(make(site, source, who)) == ["not-allowed"]
    made = make(site, source)
    assert made.status_code == 201, made.text
    one = made.json()
    assert (one["source"], one["folder"]) == (source, None)
    where = f"/data-sets/{one['id']}"
    assert site.call("GET", where, "ann").status_code == 404
    assert site.call("POST", f"{where}/shares", "root2", json={"user": "ann"}).status_code == 204
    assert site.call("GET", where, "ann").json()["elsewhere"]["ready"] == (source is not SNAPSHOT)
    assert site.call("DELETE", where, "ann").status_code == 403
    assert site.call("POST", f"{where}/shares", "ann", json={"user": "ben"}).status_code == 403


def test_what_keeps_a_snapshot_from_being_mounted_is_shown_until_it_is_there(site):
    id = make(site, SNAPSHOT).json()["id"]
    site.db.external_sources.record(ExternalSource(id, trouble="there is no image rbd/faces"))
    shown = site.call("GET", f"/data-sets/{id}", "root2").json()["elsewhere"]
    assert (shown["ready"], shown["trouble"]) == (False, "there is no image rbd/faces")
    site.db.external_sources.record(ExternalSource(id, "pvc-1"))
    assert site.call("GET", f"/data-sets/{id}", "root2").json()["elsewhere"]["ready"]


def test_how_much_the_cache_holds_is_shown_with_its_age(site):
    id = make(site, CACHED).json()["id"]
    site.db.external_sources.record(ExternalSource(id, size=400, cached=100, seen=NOW))
    shown = site.call("GET", f"/data-sets/{id}", "root2").json()["elsewhere"]
    assert (shown["size"], shown["cached"], shown["seen"]) == (400, 100, "2026-11-24T12:00:00Z")


@pytest.mark.parametrize("server", ["localhost", "127.0.0.1", "10.0.0.1", "nfs.test.evil.test"])
def test_servers_that_the_site_does_not_allow_are_refused_and_it_says_which_it_allows(site, server):
    (found,) = problems(make(site, EXPORT | {"server": server}))
    assert (found["code"], found["wanted"]) == ("source-not-here", "nfs.test, 10.0.0.9")


@pytest.mark.parametrize("store", ["s3", "BIG", "nn1.test"])
def test_an_hdfs_that_the_site_has_not_is_refused_and_it_says_which_it_has(site, store):
    (found,) = problems(make(site, HDFS | {"store": store}))
    assert (found["code"], found["wanted"]) == ("source-not-here", "big, hdfs")


def test_all_that_the_site_has_of_an_hdfs_may_be_one_data_set(site):
    assert make(site, {"kind": "hdfs", "store": "big"}).json()["source"] == {"kind": "hdfs", "store": "big"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (HDFS | {"path": "sets/../../s3"}, {"path": "value-invalid"}),
        (HDFS | {"path": "/sets"}, {"path": "value-invalid"}),
        (HDFS | {"server": "nn1.test"}, {"server": "field-unknown"}),
        (HDFS | {"store": ".."}, {"store": "value-invalid"}),
        (HDFS | {"store": "nn1.test:8020"}, {"store": "value-invalid"}),
        (EXPORT | {"path": "/export/../../etc"}, {"path": "value-invalid"}),
        (EXPORT | {"path": "/export,rw"}, {"path": "value-invalid"}),
        (EXPORT | {"path": "export"}, {"path": "value-invalid"}),
        (EXPORT | {"path": ["/export"]}, {"path": "value-invalid"}),
        (EXPORT | {"server": "NFS.test"}, {"server": "value-invalid"}),
        (EXPORT | {"server": "nfs.test:2049"}, {"server": "value-invalid"}),
        (EXPORT | {"server": "-o"}, {"server": "value-invalid"}),
        (EXPORT | {"image": "x"}, {"image": "field-unknown"}),
        (SNAPSHOT | {"image": "--pool=other"}, {"image": "value-invalid"}),
        (SNAPSHOT | {"image": "other/faces"}, {"image": "value-invalid"}),
        (SNAPSHOT | {"snapshot": "v1@v2"}, {"snapshot": "value-invalid"}),
        (SNAPSHOT | {"snapshot": "pvc-0f8fad5b"}, {"snapshot": "snapshot-of-volume"}),
        (SNAPSHOT | {"path": "/x"}, {"path": "field-unknown"}),
        ({"kind": "rbd"}, {"image": "field-missing", "snapshot": "field-missing"}),
        (
            {"kind": "rbd", "image": 5, "Snapshot": "v1"},
            {"image": "value-invalid", "snapshot": "field-missing", "Snapshot": "field-unknown"},
        ),
        ({"kind": "cache", "path": "s3/../cephfs"}, {"path": "value-invalid"}),
        ({"path": "s3"}, {"path": "field-unknown"}),
        ({"kind": None}, {"kind": "value-invalid"}),
        ({"kind": ["rbd"], "image": "x"}, {"kind": "value-invalid"}),
    ],
    ids=str,
)
def test_what_makes_no_source_is_reported_at_each_field(site, source, found):
    answer = make(site, source)
    assert answer.status_code == 422
    assert {p["where"]: p["code"] for p in problems(answer)} == {
        f"body.source.{field}": code for field, code in found.items()
    }
    assert site.db.data_sets.list().items == ()


@pytest.mark.parametrize("source", ["faces", None, ["rbd"], 5])
def test_a_source_is_an_object(site, source):
    (found,) = problems(make(site, source))
    assert (found["where"], found["wanted"]) == ("body.source", "an object")


def test_of_a_snapshot_of_a_volume_it_is_shown_what_to_do(site):
    (found,) = problems(make(site, SNAPSHOT | {"snapshot": "pvc-0f8fad5b"}))
    assert found["what"].startswith("A snapshot whose name begins with pvc- belongs to a volume of pods")
    assert found["found"] == "pvc-0f8fad5b"
    assert "rbd snap create" in found["remedy"]


def test_without_a_kind_it_is_a_folder(site):
    assert make(site, {}).json()["source"] == {"kind": "folder"}


@pytest.mark.parametrize("source", [SNAPSHOT, EXPORT, HDFS], ids=lambda s: s["kind"])
def test_a_site_without_them_says_so(tmp_path, source):
    bare = Site(tmp_path)
    try:
        (found,) = problems(make(bare, source))
    finally:
        bare.close()
    assert found["code"] == "source-not-here"
    assert "site file" in found["remedy"]


@pytest.mark.parametrize("kind", ["webhdfs", "hostPath", "iscsi", ""])
def test_other_kinds_are_refused_by_name(site, kind):
    answer = make(site, {"kind": kind})
    assert answer.status_code == 422
    assert "rbd" in answer.text
