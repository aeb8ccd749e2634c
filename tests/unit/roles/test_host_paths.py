"""Folders of nodes in the platform's pods: read-only, but for those that are listed with a reason."""

import re

from ava.domain.folders import Bound
from ava.operator.manifests.pod import PodDefaults, pod
from tests.unit.ava.operator.manifests.test_pod import GROUP, place
from tests.unit.fakes.roles import ROLES
from tests.unit.site.test_render_ava import objects
from tests.unit.site.test_render_ava_tunnels import racks

WRITTEN = {
    "storage: shared": "makes the folders of users, groups and data sets, and takes uploads; the API has no mount",
    "run: home": "the owner's home",
    "run: group-g1": "a folder that members of the group share",
    "run: data-1": "a data set to which the run writes (Bound.write), which no other run has meanwhile",
}
"""Pod and volume to why it is written to."""
TEMPLATES = ("storage.yml.j2",)
"""Manifests of the role ava with folders of nodes."""


def written(name, spec, whole=True):
    """Return the volumes of nodes' folders that a pod's containers may write to, as in WRITTEN."""
    folders = {v["name"] for v in spec["volumes"] if "hostPath" in v}
    containers = [*spec["containers"], *spec.get("initContainers", [])]
    mounts = [m for c in containers for m in c.get("volumeMounts", [])]
    assert not whole or folders <= {m["name"] for m in mounts}, (
        "a volume that no container mounts is not needed"
    )
    return {f"{name}: {m['name']}" for m in mounts if m["name"] in folders and not m.get("readOnly")}


def test_every_manifest_with_a_folder_of_a_node_is_looked_at():
    volume = re.compile(r"\bhostPath: *(\{|$)", re.M)
    files = [p for p in ROLES.glob("*/*/*") if p.suffix in (".j2", ".yml") and volume.search(p.read_text())]
    assert sorted(p.name for p in files) == sorted(TEMPLATES)


def test_folders_of_nodes_are_read_only_but_for_those_with_a_reason(tmp_path):
    found = set()
    for template in TEMPLATES:
        for one in objects(tmp_path, template, racks()).values():
            if one["kind"] in ("Deployment", "DaemonSet", "StatefulSet", "Job"):
                found |= written(one["metadata"]["name"], one["spec"]["template"]["spec"])
    data = (Bound("digits", "datasets/f1/data"), Bound("made", "datasets/f2/data", True))
    code = {"git": {"url": "https://code.test/a.git", "commit": "0" * 40}}
    mpi = {"distributed": "mpi", "roles": [{"name": "launcher"}, {"name": "worker"}]}
    for spec in ({}, code, mpi):
        thing = pod(
            place(spec, groups=(GROUP,), data=data), PodDefaults(mount="/mnt/cephfs", git_image="git")
        )["spec"]
        found |= written("run", thing)
        assert bool(thing.get("initContainers")) == bool(spec)
        for one in thing.get("initContainers", []):
            assert not written("init", thing | {"containers": [one], "initContainers": []}, whole=False)
    assert found == set(WRITTEN)
