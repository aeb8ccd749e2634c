"""Which node suits a pod that waits for its volume."""

import pytest

from tests.unit.volumes.volume_fakes import load

fit = load("fit")
GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def node(**spec):
    return {
        "metadata": {"name": "w1", "labels": {"pool": "cpu", "speed": "25"}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "4"}},
    }


def pod(cpu=None, phase="Running", gpus=None, **spec):
    asked = {"cpu": cpu, "nvidia.com/gpu": gpus}
    requests = {name: amount for name, amount in asked.items() if amount}
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"resources": {"requests": requests}}, {}], **spec},
        "status": {"phase": phase},
    }


def affinity(**expression):
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pod(), None),
        (pod(nodeName="w1", cpu="100"), None),
        (pod(nodeName="w2"), "bound to w2"),
        (pod(nodeSelector={"pool": "cpu"}), None),
        (pod(nodeSelector={"pool": "gpu"}), "nodeSelector"),
        (pod(affinity=affinity(key="pool", operator="In", values=["cpu"])), None),
        (pod(affinity=affinity(key="pool", operator="NotIn", values=["cpu"])), "affinity"),
        (pod(affinity=affinity(key="rack", operator="Exists")), "affinity"),
        (pod(affinity=affinity(key="rack", operator="DoesNotExist")), None),
        (pod(affinity=affinity(key="speed", operator="Gt", values=["10"])), None),
        (pod(affinity=affinity(key="speed", operator="Lt", values=["10"])), "affinity"),
        (pod(cpu="1500m"), None),
        (pod(cpu="2500m"), "too little cpu"),
        (pod(gpus="5"), "too little nvidia.com/gpu"),
    ],
)
def test_what_the_pod_asks_for(given, wanted):
    found = fit.misfit(node(), [], given)
    assert found is None if wanted is None else wanted in found


def test_what_runs_there_already_counts_until_it_ends():
    assert "too little cpu" in fit.misfit(node(), [pod(cpu="1")], pod(cpu="1500m"))
    assert fit.misfit(node(), [pod(cpu="1", phase="Succeeded")], pod(cpu="1500m")) is None


@pytest.mark.parametrize(
    ("tolerations", "fits"),
    [
        ([], False),
        ([{"operator": "Exists"}], True),
        ([{"key": "nvidia.com/gpu", "operator": "Exists"}], True),
        ([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}], False),
        ([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], True),
        ([{"key": "nvidia.com/gpu", "value": "x"}], False),
        ([{"key": "other", "operator": "Exists"}], False),
    ],
)
def test_taints(tolerations, fits):
    assert (fit.misfit(node(taints=[GPU]), [], pod(tolerations=tolerations)) is None) is fits


def test_a_node_that_is_drained_takes_no_volume_and_a_mere_preference_bars_no_one():
    assert "no pods" in fit.misfit(node(unschedulable=True), [], pod())
    assert fit.misfit(node(taints=[{**GPU, "effect": "PreferNoSchedule"}]), [], pod()) is None
