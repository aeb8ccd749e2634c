"""What pods see of the shared file system: their owner's home and groups, the run's data sets, and nothing that is not made."""

from dataclasses import replace

import pytest

from ava.domain import folders
from ava.domain.data_sets import DataSet, ExternalSource, bound, nfs_volume
from ava.domain.folders import Bound
from ava.operator.manifests.pod import PodDefaults, pod
from tests.unit.ava.operator.manifests.test_pod import GROUP, NOW, USER, place

SPEECH = replace(GROUP, id="g1bbbbbbbbbbb", name="speech", gid=GROUP.gid + 1)
SHARED = PodDefaults(mount="/mnt/cephfs/")


def mounts(thing):
    """Return mount point to (path on the node, whether it is read-only) of the main container."""
    paths = {v["name"]: v["hostPath"] for v in thing["spec"]["volumes"] if "hostPath" in v}
    return {
        m["mountPath"]: (paths[m["name"]]["path"], bool(m.get("readOnly")))
        for m in thing["spec"]["containers"][0]["volumeMounts"]
        if m["name"] in paths and m["name"] != "init"
    }


def test_a_pod_has_the_home_and_the_groups_of_its_owner_and_the_runs_data_sets():
    data = (
        Bound("digits", "datasets/f1/data"),
        Bound("made", "datasets/f2/data", True),
        Bound("s3", "/mnt/a/s3"),
    )
    thing = pod(place(groups=(GROUP, SPEECH), data=data), SHARED)
    assert mounts(thing) == {
        f"/home/{USER.name}": (f"/mnt/cephfs/users/{USER.name}/data", False),
        f"/groups/{GROUP.name}": (f"/mnt/cephfs/groups/{GROUP.name}/data", False),
        "/groups/speech": ("/mnt/cephfs/groups/speech/data", False),
        "/data/digits": ("/mnt/cephfs/datasets/f1/data", True),
        "/data/made": ("/mnt/cephfs/datasets/f2/data", False),
        "/data/s3": ("/mnt/a/s3", True),
    }
    assert thing["spec"]["securityContext"]["supplementalGroups"] == [GROUP.gid, SPEECH.gid]
    assert thing["spec"]["nodeSelector"] == {folders.NODE_LABEL: "mounted"}


def test_kubelet_makes_no_folder_that_is_not_there():
    thing = pod(place(groups=(GROUP,)), SHARED)
    kinds = {
        v["hostPath"]["type"] for v in thing["spec"]["volumes"] if "hostPath" in v and v["name"] != "init"
    }
    assert kinds == {"Directory"}


def test_a_group_that_its_owner_has_left_is_not_mounted_although_it_is_charged():
    thing = pod(place(groups=(SPEECH,)), SHARED)
    assert f"/groups/{GROUP.name}" not in mounts(thing)


def test_without_a_shared_file_system_nothing_of_the_node_is_mounted():
    thing = pod(place(groups=(GROUP,)), PodDefaults())
    assert mounts(thing) == {}
    assert {"name": "home", "emptyDir": {}} in thing["spec"]["volumes"]
    assert "nodeSelector" not in thing["spec"]


def test_what_a_site_does_not_have_is_refused():
    cached = DataSet("f1", "ann", "faces", {"kind": "cache", "path": "s3/faces"}, None, 0, 0, NOW)
    assert bound("faces", cached, False, "/mnt/alluxio/").path == "/mnt/alluxio/s3/faces"
    with pytest.raises(ValueError, match="Alluxio"):
        bound("faces", cached, False, "")


@pytest.mark.parametrize(("more", "seen"), [({}, "big"), ({"path": "sets/faces"}, "big/sets/faces")])
def test_an_hdfs_is_read_where_the_cache_shows_it_and_never_written(more, seen):
    one = DataSet("f4", "ann", "faces", {"kind": "hdfs", "store": "big", **more}, None, 0, 0, NOW)
    found = bound("faces", one, True, "/mnt/alluxio")
    assert (found.path, found.write) == (f"/mnt/alluxio/{seen}", False)
    with pytest.raises(ValueError, match="Alluxio"):
        bound("faces", one, False, "")


SNAPSHOT = DataSet("f2", "ann", "big", {"kind": "rbd", "image": "i", "snapshot": "v1"}, None, 0, 0, NOW)
EXPORT = DataSet("f3", "ann", "old", {"kind": "nfs", "server": "nfs.test", "path": "/a"}, None, 0, 0, NOW)


def test_nodes_drivers_mount_snapshots_and_servers_folders_read_only_where_they_can():
    data = (
        bound("big", SNAPSHOT, False, "", ExternalSource("f2", "pvc-1")),
        bound("old", EXPORT, False, ""),
        bound("again", EXPORT, False, ""),
    )
    thing = pod(place(data=data), SHARED)
    driven = {v["name"]: v["flexVolume"] for v in thing["spec"]["volumes"] if "flexVolume" in v}
    export = nfs_volume("nfs.test", "/a")
    assert driven == {
        "pvc-1": {
            "driver": "avadm/volume",
            "readOnly": True,
            "options": {"kind": "rbd", "image": "pvc-1", "access": "ro"},
        },
        export: {
            "driver": "avadm/volume",
            "readOnly": True,
            "options": {"kind": "nfs", "server": "nfs.test", "path": "/a", "access": "ro"},
        },
    }
    seen = {
        m["mountPath"]: (m["name"], m["readOnly"])
        for m in thing["spec"]["containers"][0]["volumeMounts"]
        if m["name"] in driven
    }
    assert seen == {"/data/big": ("pvc-1", True), "/data/old": (export, True), "/data/again": (export, True)}
    labels = {folders.NODE_LABEL: "mounted", "avadm.io/rbd": "yes", "avadm.io/nfs": "yes"}
    assert thing["spec"]["nodeSelector"] == labels
