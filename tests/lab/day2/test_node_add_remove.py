"""`avadm node add` and `node remove` on the lab: under load, killed and continued, for a living and a dead node."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from avadm.site.load import load
from tests.controls.day_two import UNINTERRUPTED
from tests.lab.conftest import seen
from tests.lab.day2.interruptions import killed
from tests.lab.faults.drive import avadm, healthy
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

STORAGE, WORKER = "stor9", "comp9"
UNITS = "ceph-*@* kubelet kube-* etcd docker haproxy keepalived patroni prometheus prometheus-* avadm-*"
STARTED = (
    f"systemctl show --property=Id,ExecMainStartTimestampMonotonic $(systemctl list-units --type=service --state=running "
    f"--plain --no-legend {UNITS} | cut -d' ' -f1)"
)
TIMEOUT_S = 3000


def having(lab, role):
    """Return the names of the site's nodes with a role, those that came later as well, and none that left."""
    return [node.name for node in load(lab.site_path).site.with_role(role)]


def good(*argv):
    done = avadm(*argv, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def added(name, *roles, disks=0):
    """Start a machine and return the words of `node add` that make it a node."""
    flags = [word for role in roles for word in ("--role", role)]
    good("lab", "add", name, *flags, "--disks", str(disks))
    lab = seen()
    node, folder = lab.node(name), Path(lab.site_path).parent
    words = ["node", "add", name, "--address", node["address"], "--rack", "r1", *flags]
    for letter in "bcd"[:disks]:
        words += [
            "--serial",
            f"/dev/disk/by-id/scsi-AVADM_{load(lab.site_path).site.name.upper()}-{name}-{letter}",
        ]
    return [*words, "--accept-host-keys", "--password-file", str(folder / "password"), "--yes"]


def inside(name, command):
    """Return the output of a command on a machine whose host key the site does not know any more."""
    container = f"avadm-{load(seen().site_path).site.name}-{name}"
    done = subprocess.run(["docker", "exec", container, "sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def named(lab, name):
    """Return what the cluster and the controller have of a name."""
    mon, found = having(lab, "mon")[0], []
    for command in ("ceph osd tree", "ceph auth ls 2>/dev/null", "cat /etc/hosts"):
        found += [f"{command}: {line}" for line in lab.sh(mon, command).split("\n") if name in line]
    if masters := having(lab, "master"):
        for command in (
            "kubectl get nodes -o name",
            "avadm-calicoctl get nodes",
        ):
            found += [
                f"{command}: {line}" for line in lab.sh(masters[0], command).split("\n") if name in line
            ]
    folder = Path(lab.site_path).parent
    for path in (lab.site_path, Path(lab.site_path).with_suffix(".pki.json"), folder / "known_hosts"):
        text = path.read_text()
        if f'-{name}"' in text or f"name: {name}" in text:
            found.append(str(path))
    return found


@pytest.fixture
def gone():
    """Names of machines that a test added; they leave the site and the lab, however the test ends."""
    names = []
    yield names
    for name in names:
        site = load(seen().site_path).site
        if any(n.name == name for n in site.nodes):
            done = avadm("node", "remove", name, "--yes", timeout=TIMEOUT_S)
            if done.returncode:
                print(done.stdout, done.stderr, file=sys.stderr)
        avadm("lab", "remove", name)


def test_a_storage_node_comes_and_goes_under_load(gone, loads, recorder):
    at_work = loads()
    recorder.skip_if_done("node remove", UNINTERRUPTED, at_work)
    gone.append(STORAGE)
    before = seen()
    others = {n["name"]: before.sh(n["name"], STARTED) for n in before.nodes}
    words = added(STORAGE, "osd", disks=1)
    with recorder.under("node add", UNINTERRUPTED, loads()):
        good(*words)
    lab = seen()
    healthy(lab)
    after = {name: lab.sh(name, STARTED) for name in others}
    assert after == others, "processes were restarted on other nodes"
    osds = lab.sh(lab.names("mon")[0], f"ceph osd ls-tree {STORAGE}").split()
    assert len(osds) == 1
    with recorder.under("node remove", UNINTERRUPTED, at_work):
        good("node", "remove", STORAGE, "--yes")
    healthy(lab)
    assert named(before, STORAGE) == []
    units = inside(STORAGE, "systemctl is-active 'ceph-osd@*' prometheus-node-exporter || true")
    assert set(units.split()) <= {"inactive", "unknown"}
    assert inside(STORAGE, "ls /etc/ceph/*.keyring 2>/dev/null || true") == ""
    assert json.loads(good("apply", "--json", "--yes"))["changed"] == 0
    again = avadm("node", "remove", STORAGE, "--yes")
    assert (
        again.returncode,
        "unknown-node" in again.stdout + again.stderr or "no such node" in again.stderr,
    ) == (2, True)


@pytest.mark.parametrize("seconds", [3, 15, 40])
def test_a_removal_that_is_killed_is_continued_by_the_same_command(gone, seconds):
    gone.append(STORAGE)
    before = seen()
    good(*added(STORAGE, "osd", disks=1))
    healthy(seen())
    killed(["node", "remove", STORAGE, "--yes"], float(seconds))
    good("node", "remove", STORAGE, "--yes")
    healthy(before)
    assert named(before, STORAGE) == []


def test_a_worker_comes_and_goes_with_its_pods(gone):
    lab = seen()
    if not lab.names("master"):
        pytest.skip("this lab has no Kubernetes")
    gone.append(WORKER)
    # As the other workers: without the cache of theirs, AVA would do without it everywhere.
    cache = ["alluxio_client"] if lab.names("alluxio_client") else []
    good(*added(WORKER, "client", "worker", *cache))
    master = lab.names("master")[0]
    ready = f"kubectl get node {WORKER} -o jsonpath='{{.status.conditions[?(@.type==\"Ready\")].status}}'"
    until(lambda: lab.sh(master, ready).strip() == "True", 120)
    good("node", "remove", WORKER, "--yes")
    assert named(lab, WORKER) == []
    assert inside(WORKER, "systemctl is-active kubelet || true") != "active"


def test_a_node_that_was_carried_away_is_removed_as_dead(gone):
    gone.append(STORAGE)
    before = seen()
    good(*added(STORAGE, "osd", disks=1))
    healthy(seen())
    assert avadm("node", "remove", STORAGE, "--dead", "--yes").returncode == 2, "it lives"
    good("lab", "remove", STORAGE)
    refused = avadm("node", "remove", STORAGE, "--yes")
    assert refused.returncode == 2, "it is silent"
    until(
        lambda: '"up": 0' in before.sh(before.names("mon")[0], "ceph osd dump -f json").replace('":', '": '),
        120,
    )
    good("node", "remove", STORAGE, "--dead", "--yes")
    healthy(before)
    assert named(before, STORAGE) == []


def test_what_the_site_cannot_do_without_is_refused_and_nothing_is_changed():
    lab = seen()
    before = Path(lab.site_path).read_text()
    # Of one master there is no other; of three two would be left.
    of_master = "quorum-even" if len(lab.names("master")) > 1 else "last-of-role"
    for name, id in (("stor1", "quorum-even"), ("mast1", of_master), ("nowhere", "unknown-node")):
        if name != "nowhere" and name not in [n["name"] for n in lab.nodes]:
            continue
        done = avadm("node", "remove", name, "--dry-run", "--json")
        assert done.returncode == 2
        assert id in {one["check"] for one in json.loads(done.stdout)["refused"]}
    assert Path(lab.site_path).read_text() == before


def test_a_wrong_disk_leaves_the_site_file_alone(gone):
    gone.append(STORAGE)
    before = Path(seen().site_path).read_text()
    words = added(STORAGE, "osd", disks=1)
    wrong = [word.replace(f"{STORAGE}-b", f"{STORAGE}-z") for word in words]
    assert avadm(*wrong, timeout=TIMEOUT_S).returncode == 2
    assert Path(seen().site_path).read_text() == before
    good(*words)
