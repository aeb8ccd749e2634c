"""The command line on a site of five nodes that are folders, with somebody who plays Ansible."""

import time

import pytest
from click.testing import CliRunner

from avadm.cli import main
from avadm.cli.main import App, cli
from avadm.components.model import Phase
from avadm.engine import run as runs
from avadm.errors import AvadmError
from avadm.remote.ansible import PlaybookResult
from avadm.remote.events import Event, Kind
from tests.unit.fakes.nodes import Nodes

HOSTS = Phase.hosts
MONS = ("stor1", "stor2", "stor3")
SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, osd], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  - {name: comp1, address: 10.9.0.21, roles: [client, prometheus, alertmanager]}
  - {name: comp2, address: 10.9.0.22, roles: [client, prometheus, alertmanager]}
"""


class Playbooks:
    """Plays playbooks: all goes well but what ``script`` says of a (phase, host), and but for phases in ``failing``.

    A phase sets right on each node what it keeps there (``kept`` by phase, or ``own`` by host), unless ``fixes`` is
    false; what is found there afterwards is in the nodes' values.
    """

    def __init__(self, nodes):
        self.nodes, self.requests, self.fixes = nodes, [], True
        self.script, self.kept, self.own, self.failing = {}, {}, {}, set()

    @property
    def phases(self):
        return [request.phase for request in self.requests]

    def run(self, request, on_event, canceled):
        def tell(kind, **about):
            on_event(Event(time.time(), request.phase, kind, **about))

        self.requests.append(request)
        fails = request.phase in self.failing
        stats, rc = {}, 2 if fails else 0
        usual = Kind.CHANGED if request.check else Kind.OK
        tell(Kind.TASK_START, task="role : Work")
        for host in request.limit:
            items = self.own.get(host, self.kept.get(request.phase, ()))
            if self.fixes and not request.check:
                self.nodes.values.update({self.nodes.key(host, item): "right" for item in items})
            kind, message = self.script.get((request.phase, host), (usual, ""))
            tell(Kind.HOST_START, host=host, task="role : Work")
            tell(kind, host=host, task="role : Work", seconds=0.5, message=message, manages=items)
            stats[host] = {"ok": 1, "changed": 0, "failed": int(fails), kind.value: 1}
            rc = {Kind.FAILED: 2, Kind.UNREACHABLE: max(rc, 4)}.get(kind, rc)
        tell(Kind.STATS, stats=stats)
        return PlaybookResult(rc)


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    return reached(Nodes(tmp_path / "nodes"), monkeypatch)


def reached(fleet, monkeypatch):
    """Have all verbs reach these nodes, and return them."""
    monkeypatch.setattr(App, "idle_fleet", lambda self: fleet)
    monkeypatch.setattr(App, "fleet", App.idle_fleet)
    return fleet


@pytest.fixture
def playbooks(nodes, tmp_path, monkeypatch):
    runner = Playbooks(nodes)
    (tmp_path / "site.yml").write_text(SITE)
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(runs, "AnsibleRunner", lambda redactor: runner)
    monkeypatch.setattr(runs, "check_versions", lambda site_file, fleet, phase, names: [])
    # What is tried here goes for every phase, and five are enough: the packet filter's, on all nodes, is left out.
    monkeypatch.setattr(Phase, "hosts", lambda self, site: () if self.name == "filter" else HOSTS(self, site))
    return runner


@pytest.fixture
def avadm(tmp_path, nodes, playbooks):
    """Return a function: run avadm; what was asked and played before is forgotten."""

    def run(*argv, site=tmp_path / "site.yml"):
        playbooks.requests.clear()
        nodes.asked.clear()
        return CliRunner().invoke(cli, ["--site", str(site), *argv])

    return run


@pytest.fixture
def called(monkeypatch, capsys):
    """Return a function: call avadm as its script does; its exit status, what it printed and what it complained."""
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)

    def run(*argv):
        monkeypatch.setattr("sys.argv", ["avadm", *map(str, argv)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    return run


def refusals(result):
    """Return the findings with which a run was refused."""
    assert isinstance(result.exception, AvadmError), result.output
    assert result.exception.exit_code == 2
    return result.exception.findings


def refusal(result):
    return refusals(result)[0]
