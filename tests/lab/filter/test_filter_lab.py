"""The packet filter on the lab's nodes: port by port by the components' table, from outside, from other nodes, from a pod.

The machine itself is outside: it comes by the gateway of the nodes' network. A port counts as open where an answer
comes, also one that no process listens there; what is dropped has none.
"""

import json
import subprocess
import sys
import time
import uuid

import pytest

from avadm import paths
from avadm.site.load import load
from tests.lab.faults.drive import AVADM, avadm, edit_site
from tests.lab.faults.planting import planted
from tests.lab.kubernetes.conftest import IMAGE, Kube
from tests.lab.waiting import wait
from tests.port_access import covers, may, words

pytestmark = pytest.mark.lab
PROGRAM = "/usr/local/sbin/avadm-packet-filter"
MORE = 7777
# While there is one connection by ssh, no other comes in; the fault's own table is not the filter's.
LOCK_OUT = """nft -f - <<'END'
table ip lockout {
  chain input {
    type filter hook input priority -5;
    tcp dport 22 ct state new ct count over 1 counter drop
  }
}
END"""
ASK = """
import errno, json, select, socket, sys, time
job = json.loads(sys.argv[1]); poll, made, passed = select.poll(), {}, {}
for address in job["to"]:
    for port in job["ports"]:
        link = socket.socket(); link.setblocking(False); link.connect_ex((address, port))
        made[link.fileno()] = (link, address, port); poll.register(link, select.POLLOUT)
until = time.time() + 4
while made and time.time() < until:
    for number, _ in poll.poll(200):
        link, address, port = made.pop(number); poll.unregister(number)
        if link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, errno.ECONNREFUSED):
            passed.setdefault(address, []).append(port)
        link.close()
print(json.dumps(passed))
"""


@pytest.fixture(scope="module")
def site(lab):
    """The lab's site; what the tests ask for is nothing that the doctor shall find afterwards."""
    found = load(lab.site_path).site
    if not found.network.filter.enabled:
        pytest.skip("this lab does not filter")
    yield found
    for node in found.nodes:
        lab.run(node.name, "nft flush set ip avadm dropped")


def tcp(site):
    return [int(w[1:]) for w in words(site) if w[0] == "t"]


def job(site, names):
    """Return the arguments of ASK: all TCP ports of the table at some nodes."""
    return json.dumps({"to": [str(site.node(n).address) for n in names], "ports": tcp(site)})


def wanted(site, names, source):
    """Return node to the ports that the table opens to a source."""
    return {n: [p for p in tcp(site) if may(site, n, f"t{p}", source)] for n in names}


def seen(site, names, output):
    """Return node to the ports of which something came back."""
    report = json.loads(output)
    return {n: sorted(report.get(str(site.node(n).address), [])) for n in names}


def sorted_(found):
    return {name: sorted(ports) for name, ports in found.items()}


def status(lab, node):
    return json.loads(lab.sh(node, f"{PROGRAM} status"))


@pytest.mark.core("filter")
def test_who_is_outside_reaches_what_the_table_says_on_every_node(lab, site):
    names = [n.name for n in site.nodes]
    assert {n: status(lab, n)["same"] for n in names} == dict.fromkeys(names, True)
    argv = [sys.executable, "-c", ASK, job(site, names)]
    reply = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert seen(site, names, reply) == sorted_(wanted(site, names, "outside"))


def _sources(site):
    """Return one node of each set of roles."""
    return list({frozenset(n.roles): n.name for n in site.nodes}.values())


def test_other_nodes_reach_what_their_duties_need_and_nothing_else(lab, site):
    for source in _sources(site):
        names = [n.name for n in site.nodes if n.name != source]
        reply = lab.sh(source, f"python3 -c '{ASK}' '{job(site, names)}'")
        assert seen(site, names, reply) == sorted_(wanted(site, names, source)), f"from {source}"


@pytest.fixture
def pod(lab, site):
    """A pod of a worker, and the cluster."""
    if not lab.names("worker") or not lab.names("master"):
        pytest.skip("this lab has no pods")
    kube, name, node = Kube(lab), f"filter-{uuid.uuid4().hex[:6]}", lab.names("worker")[0]
    container = {"name": "c", "image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [container]},
        }
    )
    try:
        assert wait(lambda: kube.get(f"pod {name}")["status"].get("podIP"), 60)
        yield kube, kube.get(f"pod {name}"), node
    finally:
        kube.ctl(f"delete pod {name} --ignore-not-found --now")


@pytest.mark.core("filter")
def test_a_pod_reaches_of_its_own_and_of_other_nodes_what_is_open_to_pods(lab, site, pod):
    kube, made, node = pod
    names = [n.name for n in site.nodes]
    reply = lab.sh(node, kube.inside(made, f"python3 -c '{ASK}' '{job(site, names)}'"))
    assert seen(site, names, reply) == sorted_(wanted(site, names, "pod"))


@pytest.mark.core("filter")
def test_whatever_listens_is_in_the_table(lab, site):
    strange = {}
    for node in site.nodes:
        for line in lab.sh(node.name, "ss -H -ltnup").splitlines():
            kind, _, _, _, local, _, *who = line.split()
            address, _, port = local.rpartition(":")
            address = address.strip("[]").partition("%")[0].removeprefix("::ffff:")
            # Programs that ask others have a port of the kernel's choice for the answer, which connection tracking lets in.
            asks = kind == "udp" and int(port) >= 32768
            if address.startswith("127.") or address == "::1" or asks:
                continue
            if not covers(site, node.name, f"{kind[0]}{port}"):
                strange.setdefault(node.name, []).append(f"{kind} {local} {' '.join(who)}")
    assert strange == {}


@pytest.mark.slow
def test_a_filter_that_cuts_off_the_controller_is_taken_back_and_reported(lab, site, tmp_path):
    """The role itself, with rules that let no one in by ssh."""
    node = site.nodes[-1].name
    before = status(lab, node)
    rendered = avadm("site", "render", "--out", str(tmp_path / "inventory"))
    assert rendered.returncode == 0, rendered.stderr
    rules = lab.sh(node, "cat /etc/avadm/packet-filter.nft").replace(
        f"tcp dport {site.ssh.port} accept", "tcp dport 1 accept"
    )
    given = {
        "packet_filter_rules": {"bad": rules},
        "packet_filter_kind": "bad",
        "packet_filter_confirm_s": 20,
    }
    vault = lab.site_path.with_suffix(".vault.yml"), lab.site_path.with_suffix(".vault-pass")
    argv = [AVADM.with_name("ansible-playbook"), "-i", tmp_path / "inventory", "-e", f"@{vault[0]}"]
    argv += ["--vault-password-file", vault[1], "-l", node, "-e", json.dumps(given), "playbooks/filter.yml"]
    done = subprocess.run(argv, cwd=paths.home(), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode != 0, done.stdout
    assert "cannot be reached under its new packet filter" in done.stdout, done.stdout[-3000:]
    assert "It has taken them back" in done.stdout
    after = status(lab, node)
    assert (after["same"], after["kept"], after["tried"]) == (True, before["kept"], False)


@pytest.fixture
def one_port_more(lab):
    """The site file lets one port more in, and as before afterwards."""
    entry = {"port": MORE, "sources": ["outside"], "why": "a test"}

    def let_in(data):
        data["network"].setdefault("filter", {}).setdefault("allow", []).append(entry)

    before = edit_site(lab, let_in)
    yield
    lab.site_path.write_text(before)
    done = avadm("apply", "filter")
    assert done.returncode == 0, done.stdout + done.stderr


def applied(*more):
    """Apply the filter's phase; return its exit status, its summary and what went wrong."""
    done = avadm("apply", "filter", "--json", *more)
    data = json.loads(done.stdout)
    (phase,) = (p for p in data["phases"] if p["name"] == "filter")
    return done.returncode, phase, data["failures"]


@pytest.mark.slow
def test_rules_that_alone_have_changed_come_without_a_playbook_as_the_role_writes_them(
    lab, site, one_port_more
):
    rc, phase, _ = applied()
    assert (rc, phase["ok"], phase["changed"]) == (0, len(site.nodes), len(site.nodes))
    for node in site.nodes:
        assert f"tcp dport {MORE} " in lab.sh(node.name, "nft -nn list table ip avadm")
        assert (status(lab, node.name)["same"], status(lab, node.name)["tried"]) == (True, False)
    assert applied()[1]["state"] == "unchanged"
    rc, phase, _ = applied("--force")
    assert (rc, phase["changed"]) == (0, 0)


@pytest.mark.slow
def test_a_node_that_cannot_be_reached_again_keeps_its_rules_and_the_others_are_reported(
    lab, site, one_port_more
):
    node = site.nodes[-1].name
    before = status(lab, node)
    with planted(lab, node, "locked-out", LOCK_OUT, "nft delete table ip lockout"):
        rc, phase, failures = applied()
        after = status(lab, node)
    assert (rc, phase["changed"]) == (1, len(site.nodes) - 1)
    assert [f["host"] for f in failures] == [node]
    assert (after["same"], after["kept"], after["tried"]) == (True, before["kept"], False)


@pytest.mark.slow
def test_rules_that_someone_changed_are_put_right_by_an_apply(lab, site):
    node = site.nodes[0].name
    hole = "nft insert rule ip avadm outside tcp dport 9 accept"
    with planted(lab, node, "filter-hole", hole, "nft -f /etc/avadm/packet-filter.nft"):
        assert not status(lab, node)["same"]
        done = avadm("apply", "filter", "--limit", node)
        assert done.returncode == 0, done.stdout + done.stderr
        assert status(lab, node)["same"]


@pytest.mark.slow
def test_the_doctor_tells_of_a_filter_that_is_off_and_of_who_was_refused(lab, site):
    source, node = site.nodes[0], site.nodes[-1].name

    def severities(check):
        rows = json.loads(avadm("doctor", "--json", "--only", check).stdout)["checks"]
        return [r["status"] for r in rows if r["where"] == node]

    lab.run(source.name, f"timeout 3 bash -c '</dev/tcp/{site.nodes[-1].address}/31'")
    assert severities("packet-filter-refused") == ["warn"]
    with planted(lab, node, "filter-off", "nft delete table ip avadm", "nft -f /etc/avadm/packet-filter.nft"):
        assert severities("packet-filter") == ["bad"]


@pytest.mark.slow
def test_the_filter_is_there_after_a_boot(lab, site):
    node = lab.names("worker")[-1] if lab.names("worker") else site.nodes[-1].name
    for state in ("off", "on"):
        assert avadm("lab", "power", node, state).returncode == 0
    end = time.monotonic() + 120
    while lab.run(node, "true").returncode and time.monotonic() < end:
        time.sleep(2)
    assert status(lab, node)["same"]
    assert lab.host(node).service("avadm-packet-filter").is_running
