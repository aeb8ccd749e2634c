"""What a tenant is refused by policies and by admission, row by row of tests/attacks.yml; the administrator may each."""

import json
import uuid

import pytest

from tests.attacks import NAME, attacks
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
SPACE = "lab-tenant"
AS_TENANT = "--as=lab-tenant --as-group=avadm:tenant --as-group=system:authenticated"


@pytest.fixture
def make(kube):
    """Make an object in the tenant's namespace, as the tenant or as the administrator; it is removed in the end."""
    made = []

    def run(given, who=""):
        text = json.dumps(given)
        done = kube.lab.run(kube.master, f"kubectl create -n {SPACE} {who} -f - <<'END'\n{text}\nEND")
        if done.returncode == 0:
            made.append(given["kind"].lower())
        return done

    def remove():
        for kind in dict.fromkeys(made):
            kube.ctl(f"delete {kind} {NAME} -n {SPACE} --ignore-not-found --force --grace-period=0", 60)
        made.clear()

    run.remove = remove
    yield run
    remove()


@pytest.mark.parametrize("row", [a for a in attacks() if not a.pods], ids=lambda a: a.name)
def test_a_tenant_may_what_is_harmless_and_nothing_else(make, row):
    tried = make(row.object, AS_TENANT)
    assert (tried.returncode == 0) == row.allowed, tried.stderr
    assert row.by in tried.stderr
    make.remove()
    allowed = make(row.object)
    assert allowed.returncode == 0, allowed.stderr


def test_a_service_that_is_there_is_not_turned_into_a_door(kube, make):
    plain = next(a for a in attacks() if a.name == "service").object
    assert make(plain, AS_TENANT).returncode == 0
    for spec in (
        {"externalIPs": ["192.0.2.1"]},
        {"type": "ExternalName", "externalName": "localhost", "clusterIP": ""},
    ):
        patch = json.dumps({"spec": spec})
        done = kube.lab.run(kube.master, f"kubectl patch service {NAME} -n {SPACE} {AS_TENANT} -p '{patch}'")
        assert done.returncode != 0
        assert "administrator's to give" in done.stderr


@pytest.mark.slow
def test_without_an_answer_no_service_is_made_and_all_else_goes_on(kube, lab, make):
    plain, pod = (next(a for a in attacks() if a.name == name).object for name in ("service", "plain"))
    for node in lab.names("master"):
        lab.sh(node, "systemctl stop avadm-admission")
    try:
        refused = make(plain, AS_TENANT)
        assert refused.returncode != 0
        assert "services.admission.avadm.io" in refused.stderr
        assert make(pod, AS_TENANT).returncode == 0
        assert all(kube.ready().values())
        kube.ctl("get endpoints kube-controller-manager -n kube-system")
    finally:
        for node in lab.names("master"):
            lab.sh(node, "systemctl start avadm-admission")
    assert make(plain, AS_TENANT).returncode == 0


@pytest.mark.parametrize("row", [a for a in attacks() if a.pods], ids=lambda a: a.name)
def test_a_controller_makes_no_pod_for_a_tenant_that_the_tenant_may_not_make(kube, make, row):
    """Its account is one of kube-system, where all pods are allowed."""
    row.object["metadata"]["labels"] = {"planted": uuid.uuid4().hex[:8]}
    tried = make(row.object, AS_TENANT)
    assert tried.returncode == 0, tried.stderr

    def messages():
        found = kube.get(f"replicasets -n {SPACE} -l app={NAME}")["items"]
        return [c["message"] for rs in found for c in rs["status"].get("conditions", [])]

    reasons = wait(messages, 30)
    assert any(row.by in reason for reason in reasons), reasons
    assert kube.get(f"pods -n {SPACE} -l app={NAME}")["items"] == []


def test_no_packet_from_elsewhere_reaches_a_node_s_own_loopback(kube, lab):
    """The neighbour sends to 127.0.0.1 by way of the node, as CVE-2020-8558 has it: the rule counts, and nothing answers."""
    node, neighbour = kube.nodes()[0], kube.nodes()[1]
    address = lab.node(node)["address"]
    count = "iptables -w 10 -t raw -L AVADM-LOCALNET -nvx | awk '/DROP/ {print $1}'"
    before = int(lab.sh(node, count))
    mac = lab.sh(
        node, f"cat /sys/class/net/$(ip -o addr show to {address} | awk '{{print $2}}')/address"
    ).strip()
    # A raw Ethernet frame: the neighbour's own kernel would keep a packet to 127.0.0.1 for itself.
    send = (
        "import socket, struct, sys; mac, dev, src = sys.argv[1:]; "
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((dev, 0)); own = s.getsockname()[4]; "
        "ip = struct.pack('!BBHHHBBH4s4s', 69, 0, 28, 1, 0, 64, 17, 0, socket.inet_aton(src), socket.inet_aton('127.0.0.1')); "
        "n = sum(struct.unpack('!10H', ip)); n = (n >> 16) + (n & 65535); n = ~(n + (n >> 16)) & 65535; "
        "ip = ip[:10] + struct.pack('!H', n) + ip[12:]; "
        "udp = struct.pack('!HHHH', 9, 9, 8, 0); "
        "s.send(bytes.fromhex(mac.replace(':', '')) + own + b'\\x08\\x00' + ip + udp)"
    )
    own = lab.node(neighbour)["address"]
    device = f"$(ip -o addr show to {own} | awk '{{print $2}}')"
    for _ in range(3):
        lab.sh(neighbour, f'python3 -c "{send}" {mac} {device} {own}')
    assert wait(lambda: int(lab.sh(node, count)) >= before + 3, 10)
