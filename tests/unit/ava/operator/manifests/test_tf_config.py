"""TF_CONFIG as tf.estimator's RunConfig reads it."""

import json

import pytest

from ava.domain.spec import Spec
from ava.operator.manifests.hostfile import members
from ava.operator.manifests.tf_config import tf_config


def cluster(**replicas):
    roles = [{"name": name, "replicas": n} for name, n in replicas.items()]
    return members(Spec.model_validate({"image": "i", "roles": roles}), "r1", 0, "ava-vision")


def run_config(text):
    """Return (type, index, number of tasks) by RunConfig's rules (run_config.py), or raise as it does."""
    reply = json.loads(text)
    jobs, task = reply["cluster"], reply["task"]
    if not jobs:
        assert (task["type"], int(task["index"])) == ("worker", 0), (
            "without a cluster the task must be worker 0"
        )
        return "worker", 0, 0
    chief = "master" if "master" in jobs else "chief"
    if "ps" in jobs or chief in jobs:
        assert len(jobs.get(chief, ())) == 1, "must have exactly one chief"
    assert "evaluator" not in jobs
    if task["type"] != "evaluator":
        assert 0 <= task["index"] < len(jobs[task["type"]])
    return task["type"], task["index"], sum(map(len, jobs.values()))


@pytest.mark.parametrize(
    "replicas",
    [
        {"worker": 1},
        {"worker": 4},
        {"chief": 1, "worker": 2, "ps": 2},
        {"master": 1, "worker": 2, "ps": 2},
        {"ps": 2, "worker": 3},
        {"ps": 1, "worker": 1},
        {"chief": 1, "ps": 1, "worker": 1, "evaluator": 1},
    ],
)
def test_every_pod_reads_a_valid_place_of_its_own(replicas):
    pods = cluster(**replicas)
    read = [run_config(tf_config(pods, m.role, m.index)) for m in pods]
    assert len({(kind, index) for kind, index, _ in read}) == len(pods)
    assert {count for _, _, count in read} == {
        0 if len(pods) == 1 else len(pods) - replicas.get("evaluator", 0)
    }


def test_each_address_is_that_of_the_pod_that_takes_the_place():
    pods = cluster(ps=1, worker=3)
    for pod in pods:
        reply = json.loads(tf_config(pods, pod.role, pod.index))
        task = reply["task"]
        assert reply["cluster"][task["type"]][task["index"]] == f"{pod.host}:2222"


def test_workers_stay_workers_where_the_file_wants_no_chief():
    pods = cluster(ps=1, worker=2)
    messages = [json.loads(tf_config(pods, m.role, m.index, chief=False)) for m in pods]
    assert {job: len(hosts) for job, hosts in messages[0]["cluster"].items()} == {"ps": 1, "worker": 2}
    assert [(s["task"]["type"], s["task"]["index"]) for s in messages] == [
        ("ps", 0),
        ("worker", 0),
        ("worker", 1),
    ]


def test_two_chiefs_and_pods_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="one chief"):
        tf_config(cluster(chief=2, ps=1), "ps", 0)
    with pytest.raises(ValueError, match="no worker 3"):
        tf_config(cluster(worker=3), "worker", 3)
