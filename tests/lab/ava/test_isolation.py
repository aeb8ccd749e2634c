"""A hostile training, and a hostile workbench, beside another tenant's training on one GPU node.

Each attack of the list is shut to both, and gets through where it may.
"""

import json
import secrets
import shlex
from types import SimpleNamespace

import pytest

from ava.client import Client
from avadm.site.load import load
from avadm_acceptance.platform_target import closed
from avadm_validation.suites.platform.isolation.attack_catalog import Attack, attacks, command
from avadm_validation.suites.platform.isolation.target import command as victim_command
from tests.lab.ava.bench_people import SPEC
from tests.lab.ava.bench_ways import Ssh
from tests.lab.ava.conftest import image_of
from tests.lab.waiting import until

pytestmark = pytest.mark.lab
GIB = 2**30
SMALL = {"cpu": 50, "memory": 128 * 2**20}
NODE = "comp3"
METADATA = "169.254.169.254"


class Tenant:
    """A user with a group of the same name."""

    def __init__(self, platform, authority, admin, name):
        self.name, self.platform = name, platform
        self.user = Client(f"https://{platform.host}", ca=authority)
        admin.make_user(name, f"{name}@example.org", platform.password)
        admin.make_group(name, {"gpu": 1, "cpu": 1000, "memory": GIB})
        admin.add_member(name, name)
        self.user.login(name, platform.password)

    def start(self, argv):
        spec = {"image": image_of(self.platform), "command": argv, "node": NODE}
        return self.user.start("isolation", {**spec, "roles": [{"each": {**SMALL, "gpu": 1}}]}).id

    def until(self, run, done, seconds=90):
        return until(done, seconds, report=lambda: self.user.run(run))

    def lines(self, run):
        return [line.text for line in self.user.logs(run, tail=1000)]


@pytest.fixture(scope="module")
def tenants(platform, authority):
    assert platform.make_admin().returncode == 0
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    made = [Tenant(platform, authority, admin, f"{kind}-{platform.admin}") for kind in ("victim", "spy")]
    yield made
    for tenant in made:
        for run in tenant.user.runs():
            if run.phase != "finished":
                tenant.user.stop(run.id)
        admin.change_user(tenant.name, state="disabled")


class Scene:
    """The victim at work, and what the attacks are informed of it."""

    def __init__(self, platform, lab, victim):
        self.platform, self.lab = platform, lab
        self._rows, self._opened = [], {}
        self.mark, key = f"mark{secrets.token_hex(6)}", 7_000_000 + secrets.randbelow(1_000_000)
        run = victim.start(victim_command(self.mark, key))
        reply = victim.until(run, lambda: [x for x in victim.lines(run) if x.startswith("ready")])[0].split()
        assert len(reply) == 2, f"the victim has one card: {reply}"
        pods = platform.ctl(f"get pods --all-namespaces --selector=ava.io/run={run}")["items"]
        (self.pod,) = [p for p in pods if p["spec"].get("nodeName") == NODE]
        self.space = self.pod["metadata"]["namespace"]
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "door", "namespace": self.space},
            "spec": {
                "type": "NodePort",
                "selector": {"ava.io/run": run},
                "ports": [{"port": 8000, "targetPort": 8000}],
            },
        }
        self.lab.sh(platform.master, f"kubectl create -f - <<'END'\n{json.dumps(service)}\nEND")
        door = platform.ctl(f"get service door --namespace={self.space}")["spec"]["ports"][0]["nodePort"]
        self.lab.sh(NODE, f"touch /{self.mark}; ip address replace {METADATA}/32 dev lo")
        self.lab.sh(NODE, f"systemd-run -q --unit {self.mark} python3 -m http.server 80 --bind {METADATA}")
        own = {p["metadata"]["labels"]["part"]: p for p in platform.ctl("get pods -n ava-system")["items"]}
        self.operator = own["operator"]["metadata"]["name"]
        self.words = {
            "mark": self.mark,
            "key": key,
            "victim_address": self.pod["status"]["podIP"],
            "victim_pid": int(lab.sh(NODE, f"pgrep -of {self.mark}")),
            "ingress": lab.names("ingress")[0],
            "master": platform.master,
            "other_card": int(reply[1].removeprefix("nvidia")),
            "node_address": lab.node(NODE)["address"],
            "node_port": door,
            "hostname": NODE,
            "hostname_length": len(NODE),
            "buffer": " " * 16,
            "service": platform.ctl("get service kubernetes -n default")["spec"]["clusterIP"],
            "api_pod": own["api"]["status"]["podIP"],
            "operator_pod": own["operator"]["status"]["podIP"],
            **dict(zip(("disk_major", "disk_minor"), self._disk(), strict=True)),
        }

    def _disk(self):
        """Return the numbers of a disk of the machine."""
        text = self.lab.sh(NODE, "lsblk -dnro MAJ:MIN,TYPE | awk '$2 == \"disk\" {print $1; exit}'")
        return [int(x) for x in text.strip().split(":")]

    def rows(self):
        """Return all attacks; at the first call it is also tried what gets through where it may."""
        if not self._rows:
            self._rows = [*attacks(self.words), *self._ports()]
            self._opened = self._control(self._rows)
        return self._rows

    def judge(self, lines):
        """Compare what an attacker has reported, in lines of JSON, with what gets through where it may."""
        tried = {line["id"]: line for line in map(json.loads, lines)}
        assert sorted(tried) == sorted(row.id for row in self._rows)
        # A row that cannot get through anywhere shows nothing.
        void = {row.id for row in self._rows if not self._opened[row.id]["open"]} - self.sometimes
        # The lab's nodes, containers themselves, have these closed to their own root.
        assert void <= {row.id for row in self._rows if row.machine}, "\n".join(
            str(self._opened[name]) for name in sorted(void)
        )
        got = [line for line in tried.values() if line["open"]]
        assert got == [], "\n".join(map(str, got))

    def _ports(self):
        """Return a row for each TCP port of the table that is not a tenant's to reach, as acceptance has it."""
        ports = closed(load(self.lab.site_path).site, NODE)
        self.sometimes = {port.name for port in ports if not port.always}
        return [Attack(p.name, "A-SC3", "connect", p.node, (p.address, p.port)) for p in ports]

    def _control(self, rows):
        """Return what gets through where it may: id to the line that was stated."""
        found = {}
        for place in {row.control for row in rows}:
            mine = [row for row in rows if row.control == place]
            argv = " ".join(f"'{word}'" for word in command(mine))
            assert "'" not in "".join(command(mine))
            inside = {
                "victim": (self.space, self.pod["metadata"]["name"]),
                "operator": ("ava-system", self.operator),
            }.get(place)
            if inside:
                text = self.lab.sh(self.platform.master, f"kubectl exec -n {inside[0]} {inside[1]} -- {argv}")
            else:
                text = self.lab.sh(NODE if place == "node" else place, argv)
            found |= {line["id"]: line for line in map(json.loads, text.strip().splitlines())}
            for row in mine:
                if row.undo:
                    self.lab.sh(NODE, row.undo)
        return found

    def close(self):
        self.lab.run(self.platform.master, f"kubectl delete service door -n {self.space}")
        self.lab.run(
            NODE,
            f"systemctl stop {self.mark}; rm -f /{self.mark}; ip address del {METADATA}/32 dev lo",
        )


@pytest.fixture(scope="module")
def scene(platform, lab, tenants):
    found = Scene(platform, lab, tenants[0])
    yield found
    found.close()


@pytest.fixture
def workbench(people, gateway):
    """Ssh into eve's workbench, which has a GPU of the victim's node."""
    eve, probe = people.eve, SimpleNamespace(jump_port=22)
    ssh = Ssh(eve.folder, probe, gateway, key="spy")
    eve.ava.put_key("ssh", "spy", ssh.public)
    run = eve.ava.start(
        "spy", {**SPEC, "node": NODE, "roles": [{"each": {**SPEC["roles"][0]["each"], "gpu": 1}}]}
    ).id
    until(lambda: eve.ava.run(run).state == "running", 120)
    ssh.it = next(w for w in eve.ava.workbenches() if w.run == run).ssh
    yield ssh.write()
    eve.stop(run)


def test_each_attack_is_shut_to_a_training_and_gets_through_where_it_may(scene, tenants):
    rows, spy = scene.rows(), tenants[1]
    assert len(rows) >= 40
    run = spy.start(command(rows))
    spy.until(run, lambda: spy.user.run(run).phase == "finished", 300)
    scene.judge(spy.until(run, lambda: len(lines := spy.lines(run)) >= len(rows) and lines))


def test_each_attack_is_shut_to_a_workbench(scene, workbench):
    reply = workbench.run("bench", shlex.join(command(scene.rows())), timeout=400)
    scene.judge(reply.stdout.splitlines())
