"""What a pod's object says of a pod that does not run yet."""

from datetime import UTC, datetime

import pytest

from ava.domain.pod_status import read
from ava.domain.states import explain

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CREATING = {"state": {"waiting": {"reason": "ContainerCreating"}}}
WAITING = {"state": {"waiting": {"reason": "PodInitializing"}}}
PLACED = [{"type": "PodScheduled", "status": "True"}]


def pod(node="n1", **status):
    labels = {"ava.io/role": "worker", "ava.io/index": "0"}
    meta = {"name": "p", "labels": labels}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": "Pending", **status}}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"conditions": PLACED}, "pulls its image"),
        ({"conditions": PLACED, "containerStatuses": [CREATING]}, "pulls its image"),
        (
            {
                "initContainerStatuses": [{"name": "code", "state": {"running": {}}}],
                "containerStatuses": [WAITING],
            },
            "its code is being cloned",
        ),
        (
            {
                "initContainerStatuses": [{"name": "peers", "state": {"running": {}}}],
                "containerStatuses": [WAITING],
            },
            "answer by ssh",
        ),
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}], "conditions": PLACED},
            "cannot be pulled",
        ),
    ],
)
def test_a_pod_that_starts_says_what_its_node_does(status, message):
    assert message in explain(read(pod(**status), NOW))


def test_a_pod_without_a_node_and_one_that_runs_start_nothing():
    assert explain(read(pod(node=""), NOW)) == ""
    assert explain(read(pod(phase="Running"), NOW)) == ""
