"""kill -9 of the installer while it makes masters and nodes: the next `avadm apply` fixes it; and a worker alone."""

import json
import os
import random
import time

import pytest

from avadm.remote.events import FINISHED
from tests.lab.faults.drive import avadm, in_mid_run, latest, start
from tests.lab.kubernetes.drive import healthy, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.usefixtures("whole")]

KILLS = int(os.environ.get("AVADM_KILLS", "3"))
UNMADE = {
    "masters": "systemctl stop kube-scheduler kube-controller-manager;"
    " rm -f /etc/systemd/system/kube-{scheduler,controller-manager}.service"
    " /etc/kubernetes/{scheduler,controller-manager}.kubeconfig /etc/kubernetes/pki/scheduler.crt /etc/haproxy/health.pem",
    "nodes": "systemctl stop kubelet kube-proxy; rm -f /etc/systemd/system/kube{let,-proxy}.service"
    " /etc/kubernetes/kubelet.kubeconfig /etc/kubernetes/pki/kubelet.crt /etc/cni/net.d/10-calico.conflist",
}


@pytest.mark.parametrize("phase", UNMADE)
def test_the_installer_is_killed_in_a_phase(lab, kube, tried, phase):
    nodes = lab.names("master") if phase == "masters" else kube.nodes()
    seed = random.SystemRandom().randrange(10**6)
    row = tried(
        "kill -9",
        f"the installer is killed {KILLS} times while it makes {phase} (seed {seed})",
        "the next apply fixes it",
    )
    rng, points = random.Random(seed), []  # noqa: S311  no key is made from it
    for _ in range(KILLS):
        for node in nodes:
            lab.sh(node, f"bash -c '{UNMADE[phase]}; systemctl daemon-reload'")
        before, running = latest(), start("apply", phase)
        in_mid_run(before, phase, running)
        delay = rng.uniform(0, 12)
        time.sleep(delay)
        assert running.poll() is None, running.communicate()[0]
        running.kill()
        running.communicate()
        points.append(round(delay, 1))
    done = avadm("apply", phase, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    healthy(kube)
    unchanged(("masters", "nodes"))
    row.came = (
        f"killed {', '.join(map(str, points))} s into the phase; the next apply fixed it (exit 0, all healthy),"
        " the one after changed nothing"
    )


def test_an_apply_for_one_worker_touches_it_alone(lab, tried):
    node = lab.names("worker")[-1]
    row = tried("one worker", f"apply --force --limit {node}", "no task on any other node")
    begun = time.monotonic()
    done = avadm("apply", "--force", "--limit", node, "base", "docker", "nodes", timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in (latest() / "events.jsonl").read_text().splitlines()]
    touched = {e["host"] for e in events if e.get("host")}
    assert touched == {node}
    results = sum(e["kind"] in FINISHED for e in events)
    row.came = f"{results} results of tasks, all of {node}; {time.monotonic() - begun:.0f} s"
