"""Three masters: the loss of one, of a member of etcd, of the virtual address' holder costs seconds and no data."""

import time
import uuid

import pytest

from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.conftest import IMAGE
from tests.lab.kubernetes.drive import etcd_leader, healthy, holders, leader
from tests.lab.kubernetes.probe import Api, Writer
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.usefixtures("three_masters")]

ERRORS_S = 30
"""Longest time without an acknowledged write that the loss of a master may cost, seconds (issue 5, part 14)."""


@pytest.fixture
def api(lab):
    """The API through its virtual address."""
    return Api(lab.site_path.with_suffix(".kubeconfig"))


@pytest.fixture
def space(kube):
    name = f"lost-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {name}")
    yield name
    kube.ctl(f"delete namespace {name}")


def everything_is_there(lab, writer):
    """Assert that every master serves all objects whose writing was acknowledged."""
    for master in lab.names("master"):
        api = Api(writer.api.kubeconfig, str(lab.node(master)["address"]))
        assert not writer.lost(api), f"{master} has not all of {len(writer.kept)} objects"


def scheduled(kube, name, space, master):
    """Make a pod, and return the seconds until a node runs it: scheduler and controllers are at work."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space},
        "spec": {"containers": [{"name": "pause", "image": IMAGE, "imagePullPolicy": "Never"}]},
    }
    other = type(kube)(kube.lab, master)
    begun = time.monotonic()
    other.apply(pod)
    phase = f"get pod {name} -n {space} -o jsonpath='{{.status.phase}}'"
    assert wait(lambda: other.ctl(phase) == "Running", 120), other.ctl(f"describe pod {name} -n {space}")
    return time.monotonic() - begun


@pytest.mark.parametrize(
    "who", ["holder of the virtual address", "leader of etcd and controllers", "another"]
)
def test_a_master_that_loses_power(lab, kube, api, space, tried, who):
    (has,), leads = holders(lab, api.host), {etcd_leader(lab), leader(kube, "kube-scheduler")}
    masters = lab.names("master")
    node = {
        "holder of the virtual address": has,
        "leader of etcd and controllers": etcd_leader(lab),
        "another": next((m for m in masters if m not in {has, *leads}), masters[-1]),
    }[who]
    row = tried(
        "master lost",
        f"{node} ({who}) loses power under writing through the virtual address",
        f"no write for less than {ERRORS_S} s, nothing lost, pods are made",
    )
    survivor = next(m for m in masters if m != node)
    with Writer(api, space) as writer:
        assert wait(lambda: len(writer.kept) >= 10, 30), writer.errors[-3:]
        try:
            assert avadm("lab", "power", node, "off").returncode == 0
            took = scheduled(kube, "meanwhile", space, survivor)
            time.sleep(20)
        finally:
            assert avadm("lab", "power", node, "on").returncode == 0
        back = healthy(kube)
        time.sleep(5)
    everything_is_there(lab, writer)
    assert writer.pause() < ERRORS_S, writer.errors
    row.came = (
        f"longest pause between two writes {writer.pause():.1f} s, {len(writer.errors)} refused; all"
        f" {len(writer.kept)} acknowledged objects on each master; a pod made meanwhile ran after {took:.0f} s;"
        f" all healthy {back:.0f} s after power"
    )


@pytest.mark.parametrize("which", ["leader", "follower"])
def test_a_member_of_etcd_that_dies(lab, kube, api, space, tried, which):
    leads = etcd_leader(lab)
    node = leads if which == "leader" else next(n for n in lab.names("etcd") if n != leads)
    row = tried(
        "etcd lost",
        f"etcd on {node} ({which}) is killed and stays down for 20 s",
        f"no write for less than {ERRORS_S} s, nothing lost",
    )
    with Writer(api, space) as writer:
        assert wait(lambda: len(writer.kept) >= 10, 30), writer.errors[-3:]
        try:
            lab.sh(node, "systemctl kill -s KILL etcd; systemctl stop etcd")
            time.sleep(20)
        finally:
            lab.sh(node, "systemctl start etcd")
        back = healthy(kube)
        time.sleep(3)
    everything_is_there(lab, writer)
    assert writer.pause() < ERRORS_S, writer.errors
    row.came = (
        f"longest pause between two writes {writer.pause():.1f} s, {len(writer.errors)} refused; all"
        f" {len(writer.kept)} acknowledged objects on each master; healthy {back:.0f} s after its start"
    )


@pytest.mark.parametrize("unit", ["keepalived", "haproxy", "kube-apiserver"])
def test_the_holder_of_the_virtual_address_loses_a_daemon(lab, kube, api, space, tried, unit):
    (node,) = holders(lab, api.host)
    row = tried(
        "virtual address",
        f"{unit} on {node}, which has the address, is killed and stays down for 20 s",
        f"no write for less than {ERRORS_S} s, nothing lost",
    )
    with Writer(api, space) as writer:
        assert wait(lambda: len(writer.kept) >= 10, 30), writer.errors[-3:]
        try:
            lab.sh(node, f"systemctl kill -s KILL {unit}; systemctl stop {unit}")
            time.sleep(20)
            (held,) = holders(lab, api.host)
        finally:
            lab.sh(node, f"systemctl start {unit}")
        healthy(kube)
    everything_is_there(lab, writer)
    assert writer.pause() < ERRORS_S, writer.errors
    # Its own haproxy leads elsewhere, so the loss of its API server alone moves nothing.
    assert (held == node) is (unit == "kube-apiserver")
    row.came = (
        f"longest pause between two writes {writer.pause():.1f} s, {len(writer.errors)} refused; the address was"
        f" then on {held}; all {len(writer.kept)} acknowledged objects on each master"
    )
