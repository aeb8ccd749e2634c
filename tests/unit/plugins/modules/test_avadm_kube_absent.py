"""avadm_kube_absent: what is there goes, in order, and is waited for."""

import pytest
from avadm_kube_absent import Absent, AbsentError

from tests.unit.fakes.clock import Clock


class Cluster:
    """kubectl with objects that go some looks after they were deleted."""

    def __init__(self, things, lasts=2):
        self.things, self.lasts, self.asked, self.going = dict(things), lasts, [], {}

    def __call__(self, argv):
        verb, kind, which = argv[4:7]
        self.asked.append((verb, kind, which))
        assert "--ignore-not-found" in argv
        if verb == "delete":
            self.going[which] = self.lasts
            return 0, "deleted", ""
        if which in self.going:
            self.going[which] -= 1
            if self.going[which] <= 0:
                self.things.pop(which, None)
        return 0, "\n".join(self.things.get(which, [])), ""


def absent(things, **more):
    cluster = Cluster(things, **more)
    return Absent(cluster, "/k"), cluster


def test_what_is_there_is_removed_in_order_and_waited_for():
    given, cluster = absent({"ava-system": ["ns/ava-system"], "--selector=a=b": ["ns/x", "ns/y"]})
    report = given.remove(
        ["namespace ava-system", "namespaces a=b", "clusterrole none"], 60, sleep=lambda s: None
    )
    assert report == ["ns/ava-system", "ns/x", "ns/y"]
    assert [one for one in cluster.asked if one[0] == "delete"] == [
        ("delete", "namespace", "ava-system"),
        ("delete", "namespaces", "--selector=a=b"),
    ]
    assert cluster.things == {}


def test_a_dry_run_removes_nothing():
    given, cluster = absent({"ava-system": ["ns/ava-system"]})
    assert given.remove(["namespace ava-system"], 60, dry=True) == ["ns/ava-system"]
    assert not [one for one in cluster.asked if one[0] == "delete"]


def test_what_does_not_go_is_reported():
    given, _ = absent({"ava-system": ["ns/ava-system"]}, lasts=1000)
    clock = Clock()
    with pytest.raises(AbsentError, match="still there after 5 s"):
        given.remove(["namespace ava-system"], 5, clock=clock, sleep=clock.sleep)
