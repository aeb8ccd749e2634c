"""avadm_kube_ready: what is waited for, and what is stated where it does not come."""

import json

import pytest
from avadm_kube_ready import Ready, ReadyError, wait

from tests.unit.fakes.clock import Clock


class Cluster:
    """kubectl: what it has by kind and name, and what pods' containers have reported."""

    def __init__(self, **things):
        self.things, self.output, self.pods = things, "", []

    def __call__(self, argv):
        words = argv[6:]
        if words[0] == "logs":
            return 0, self.output, ""
        if words[1] == "pods":
            return 0, json.dumps({"items": self.pods}), ""
        found = self.things.get(f"{words[1]}_{words[2]}")
        return (0, json.dumps(found), "") if found else (1, "", "NotFound")


def deployment(updated=2, replicas=2, available=2, seen=3, generation=3):
    status = {"updatedReplicas": updated, "replicas": replicas, "availableReplicas": available}
    meta = {"generation": generation}
    return {"metadata": meta, "spec": {"replicas": 2}, "status": {**status, "observedGeneration": seen}}


def job(kind="Complete"):
    return {"status": {"conditions": [{"type": kind, "status": "True", "message": "BackoffLimitExceeded"}]}}


def ready(**things):
    return Ready(Cluster(**things), "ava-system", "/k")


def test_what_is_done_and_rolled_out_is_ready():
    assert ready(job_migrate=job(), deployment_api=deployment()).missing(["migrate"], ["api"]) == []


@pytest.mark.parametrize(
    "found",
    [
        deployment(updated=1),
        deployment(replicas=3),
        deployment(available=1),
        deployment(seen=2),
        None,
    ],
    ids=["old", "old too", "not ready", "not seen", "none"],
)
def test_a_deployment_with_old_or_too_few_pods_is_not(found):
    assert len(ready(deployment_api=found).missing([], ["api"])) == 1


def test_a_job_that_has_failed_is_not_waited_for():
    with pytest.raises(ReadyError, match="BackoffLimitExceeded"):
        wait(ready(job_migrate=job("Failed")), ["migrate"], [], 600)


def test_what_takes_too_long_is_reported_with_what_its_pods_say():
    given = ready(job_migrate={"status": {}})
    waits = {
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "name": "migrate",
        "ready": False,
    }
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}
    given.run.pods = [
        {
            "metadata": {"name": "migrate-x"},
            "status": {"containerStatuses": [waits], "conditions": [unscheduled]},
        },
        {"metadata": {"name": "other-y"}, "status": {"containerStatuses": [waits]}},
    ]
    given.run.output = "no pg_hba.conf entry\n"

    clock = Clock()
    with pytest.raises(ReadyError, match="job migrate is not done"):
        wait(given, ["migrate"], [], 5, clock=clock, sleep=clock.sleep)
    report = given.pods(["migrate"])
    assert report == [
        "migrate-x: 0/4 nodes are available",
        "migrate-x: CrashLoopBackOff back-off",
        "  no pg_hba.conf entry",
    ]
