"""Three masters: a renewed certificate restarts the API servers one after the other, and writes continue meanwhile."""

import itertools
import uuid

import pytest

from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.drive import healthy
from tests.lab.kubernetes.probe import Api, Writer
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.usefixtures("three_masters")]

PAUSE_S = 30
"""Longest time without an acknowledged write: the client's own time-out, and the balancer's two looks."""
CERTIFICATE = "/etc/kubernetes/pki/apiserver.crt"


@pytest.fixture
def space(kube):
    name = f"rolling-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {name}")
    yield name
    kube.ctl(f"delete namespace {name}")


def started(lab, unit):
    """Return for each master (seconds since 1970 of its last stop, the same of its last start that was ready)."""
    ask = (
        f"for p in InactiveEnterTimestamp ActiveEnterTimestamp; do"
        f' date -d "$(systemctl show -p $p {unit} | cut -d= -f2)" +%s; done'
    )
    return {m: tuple(int(s) for s in lab.sh(m, ask).split()) for m in lab.names("master")}


def test_api_servers_restart_one_after_the_other(lab, kube, space, tried):
    healthy(kube)
    row = tried(
        "rolling restart",
        "the API servers' certificates are newer than what runs",
        "one after the other, writes continue",
    )
    before = started(lab, "kube-apiserver")
    for master in lab.names("master"):
        lab.sh(master, f"touch {CERTIFICATE}")
    with Writer(Api(lab.site_path.with_suffix(".kubeconfig")), space) as writer:
        assert wait(lambda: len(writer.kept) >= 10, 30), writer.errors[-3:]
        done = avadm("apply", "masters", timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
    after = started(lab, "kube-apiserver")
    assert all(after[m][1] > before[m][1] for m in after), "each was restarted"
    turns = sorted(after.values())
    assert all(ready <= stop for (_, ready), (stop, _) in itertools.pairwise(turns)), turns
    assert writer.pause() < PAUSE_S, writer.errors
    for master in lab.names("master"):
        assert not writer.lost(Api(writer.api.kubeconfig, str(lab.node(master)["address"])))
    row.came = f"longest pause {writer.pause():.1f} s, {len(writer.errors)} refused, all {len(writer.kept)} there; {turns}"


def test_one_that_comes_back_bad_is_not_followed_by_the_next(lab, kube, tried):
    """The first in the inventory, whose turn is the first, cannot start: the others continue with what they have."""
    healthy(kube)
    first, *others = lab.names("master")
    tried("rolling restart", f"the API server of {first} cannot start again", "the others are not restarted")
    before = started(lab, "kube-apiserver")
    dropin = "/etc/systemd/system/kube-apiserver.service.d"
    try:
        lab.sh(
            first, f"mkdir -p {dropin}; printf '[Service]\\nExecStartPre=/bin/false\\n' > {dropin}/bad.conf"
        )
        lab.sh(first, "systemctl daemon-reload")
        for master in lab.names("master"):
            lab.sh(master, f"touch {CERTIFICATE}")
        done = avadm("apply", "masters", timeout=1500)
        assert done.returncode == 1, done.stdout
        assert started(lab, "kube-apiserver").items() >= {m: before[m] for m in others}.items()
        for master in others:
            assert lab.host(master).service("kube-apiserver").is_running
        assert "does not serve on another node" in done.stdout + done.stderr
    finally:
        lab.sh(first, f"rm -f {dropin}/bad.conf; systemctl daemon-reload; systemctl restart kube-apiserver")
        avadm("apply", "masters", timeout=900)
        healthy(kube)
