"""avadm_kube_labels: what a node's labels and taints become, and what is left alone."""

import json

import pytest
from avadm_kube_labels import KEPT, UNREGISTERED, Labels, LabelsError, taint

from tests.unit.fakes.clock import Clock

OURS = ["nvidia.com/gpu=:NoSchedule"]
GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
OTHERS = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-11-22T00:00:00Z"}


class Kubectl:
    """kubectl with one node; refuses a patch of an older version than the node has."""

    def __init__(self, labels=(), taints=(), unregistered=0, races=0):
        meta = {"name": "n", "resourceVersion": "1", "labels": dict(labels), "annotations": {"other": "x"}}
        self.node = {"metadata": meta, "spec": {"taints": list(taints)} if taints else {}}
        self.unregistered, self.races, self.patches = unregistered, races, 0

    def __call__(self, argv):
        words = argv[3:]
        if words[0] == "get":
            self.unregistered -= 1
            if self.unregistered >= 0:
                return 1, "", 'Error from server (NotFound): nodes "n" not found'
            return 0, json.dumps(self.node), ""
        patch, meta = json.loads(words[words.index("-p") + 1]), self.node["metadata"]
        if self.races:
            self.races -= 1
            meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        if patch["metadata"].pop("resourceVersion") != meta["resourceVersion"]:
            return 1, "", "the object has been modified"
        self.patches += 1
        for kind in ("labels", "annotations"):
            for name, value in patch["metadata"][kind].items():
                meta[kind].pop(name, None)
                if value is not None:
                    meta[kind][name] = value
        self.node["spec"].update(patch.get("spec", {}))
        return 0, "", ""

    def keep(self, labels, taints=(), timeout=60, dry=False):
        clock = Clock()
        node = Labels(self, "n", "/k", clock.sleep, clock)
        return node.keep(labels, [taint(t) for t in taints], timeout, dry)

    @property
    def labels(self):
        return self.node["metadata"]["labels"]

    @property
    def taints(self):
        return self.node["spec"].get("taints", [])


def test_what_is_wanted_is_made_once():
    node = Kubectl({"kubernetes.io/hostname": "n", "rack": "old"})
    report = node.keep({"rack": "r1", "worker": ""}, OURS)
    assert report == ["label rack=r1", "label worker=", "taint nvidia.com/gpu:NoSchedule"]
    assert node.labels == {"kubernetes.io/hostname": "n", "rack": "r1", "worker": ""}
    assert node.taints == [GPU]
    assert node.keep({"rack": "r1", "worker": ""}, OURS) == []
    assert node.patches == 1


def test_what_is_not_wanted_any_more_is_removed_and_what_others_made_stays():
    node = Kubectl({"theirs": "1"}, [OTHERS])
    node.keep({"gpu-model": "p100", "rack": "r1"}, OURS)
    assert node.taints == [OTHERS, GPU]
    report = node.keep({"rack": "r1"})
    assert report == ["label gpu-model is removed", "taint nvidia.com/gpu:NoSchedule is removed"]
    assert node.labels == {"theirs": "1", "rack": "r1"}
    assert node.taints == [OTHERS]
    assert node.node["metadata"]["annotations"]["other"] == "x"
    assert node.keep({"rack": "r1"}) == []


def test_the_last_taint_goes_too():
    node = Kubectl()
    node.keep({}, OURS)
    node.keep({})
    assert node.taints == []


def test_labels_and_taints_that_were_there_already_become_ours_when_they_are_wanted():
    # An older avadm had kubelet register with them, and kubelet still registers with the taints.
    node = Kubectl({"rack": "r1"}, [GPU])
    assert node.keep({"rack": "r1"}, OURS) == ["note of what is kept"]
    node.keep({})
    assert (node.labels, node.taints) == ({}, [])


def test_a_taints_value_is_kept():
    node = Kubectl({}, [{**GPU, "value": "old"}, OTHERS])
    assert node.keep({}, ["nvidia.com/gpu=new:NoSchedule"]) == ["taint nvidia.com/gpu:NoSchedule"]
    assert node.taints == [OTHERS, {**GPU, "value": "new"}]


def test_someone_who_changes_the_node_meanwhile_is_not_overwritten():
    node = Kubectl(races=2)
    assert node.keep({"rack": "r1"}) == ["label rack=r1"]
    assert node.patches == 1


def test_a_node_that_registers_late_is_waited_for_and_one_that_does_not_is_reported():
    assert Kubectl(unregistered=5).keep({"rack": "r1"}) == ["label rack=r1"]
    with pytest.raises(LabelsError, match="not found"):
        Kubectl(unregistered=500).keep({"rack": "r1"})


def test_check_mode_only_looks():
    node = Kubectl()
    assert node.keep({"rack": "r1"}, dry=True) == ["label rack=r1"]
    assert (node.patches, node.labels) == (0, {})
    assert KEPT not in node.node["metadata"]["annotations"]


def test_check_mode_tells_a_node_that_has_not_registered():
    assert Kubectl(unregistered=9).keep({"rack": "r1"}, dry=True) == [UNREGISTERED]


@pytest.mark.parametrize("text", ["nvidia.com/gpu", "=x:NoSchedule", "key=value:"])
def test_what_is_no_taint_is_reported(text):
    with pytest.raises(ValueError, match="KEY=VALUE:EFFECT"):
        taint(text)
