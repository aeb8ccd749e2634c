"""Nodes that are lost in mid-run are named and fixed; a node that was rebooted comes back with everything."""

import pytest

from tests.lab.faults.drive import (
    avadm,
    clean_end,
    fixed,
    healthy,
    in_mid_run,
    latest,
    reachable,
    services,
    start,
    unchanged,
    unmake,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]

# Nothing leaves the node any more; it lets go by itself, since no one could tell it to.
SILENT = (
    "systemd-run --quiet --on-active=100 tc qdisc del dev eth0 root && "
    "systemd-run --quiet --on-active=1 tc qdisc add dev eth0 root tbf rate 8bit burst 10 latency 1ms"
)


def lose(lab, node, how):
    """Run apply with work to do and lose a node in the middle of it; return its exit status and output."""
    unmake(lab)
    before = latest()
    running = start("apply")
    in_mid_run(before, "ceph", running)
    how()
    reply = running.communicate(timeout=500)[0]
    return running.returncode, reply


def test_a_node_that_is_switched_off_in_mid_run(lab, tried):
    node = lab.names("client")[-1]
    row = tried("node lost", f"{node} is switched off in mid-run", "named at the end, exit 1, fixed later")
    try:
        status, reply = lose(lab, node, lambda: avadm("lab", "power", node, "off"))
    finally:
        assert avadm("lab", "power", node, "on").returncode == 0
        reachable(lab, node)
    assert status == 1, reply
    assert node in clean_end(reply), reply
    row.came = f"exit 1, {node} named at the end; {fixed(lab)}"


def test_a_node_that_loses_its_network_in_mid_run(lab, tried):
    node = lab.names("client")[1]
    row = tried(
        "network lost",
        f"nothing that {node} sends arrives, from mid-run on",
        "named at the end, exit 1, fixed",
    )
    try:
        status, reply = lose(lab, node, lambda: lab.sh(node, SILENT))
    finally:
        reachable(lab, node)
    assert status == 1, reply
    assert node in clean_end(reply), reply
    row.came = f"exit 1, {node} named at the end; {fixed(lab)}"


@pytest.mark.parametrize("role", ["osd", "client"])
def test_a_rebooted_node_comes_back_with_everything(lab, tried, role):
    node = lab.names(role)[0]
    row = tried("reboot", f"{node} ({role}) loses power and comes back", "everything runs again, by itself")
    before = services(lab, node)
    assert before
    assert avadm("lab", "power", node, "off").returncode == 0
    assert avadm("lab", "power", node, "on").returncode == 0
    reachable(lab, node)
    seconds = healthy(lab)
    for _ in range(60):
        if not (missing := before - services(lab, node)):
            break
        lab.sh(node, "sleep 1")
    assert not missing, f"{node}: not running again: {missing}"
    assert unchanged(lab)
    row.came = (
        f"{len(before)} services and mounts back, HEALTH_OK after {seconds:.0f} s; apply changed nothing"
    )
