"""`avadm database`, as a user types it; what the nodes answer is made up."""

import json
import shlex
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from avadm.cli.main import App, cli
from avadm.remote.reason import Reason, Why
from avadm.state.lock import site as site_lock
from tests.unit.fakes.cli import refusals
from tests.unit.fakes.nodes import answer

SITE = """
version: 1
name: room
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250, ingress_vip: 10.0.0.251}
nodes:
  - {name: m1, address: 10.0.0.4, roles: [etcd, master]}
  - {name: m2, address: 10.0.0.5, roles: [etcd, master]}
  - {name: m3, address: 10.0.0.6, roles: [etcd, master]}
  - {name: e1, address: 10.0.0.1, roles: [worker, dns, ingress, registry, database]}
  - {name: e2, address: 10.0.0.2, roles: [worker, database]}
components:
  ceph: {filesystem: null, rbd_pools: []}
  monitoring: {existing: ["http://10.0.0.9:9090"]}
  database: {vip: 10.0.0.99, backup: {directory: /mnt/backups}}
"""
BACKUP = {
    "label": "20261124-020000F",
    "type": "full",
    "start": 1795485600,
    "stop": 1795485700,
    "bytes": 5 << 20,
    "stored_bytes": 1 << 20,
}
MADE = {"label": "20261124-020000F", "type": "full", "timestamp": {"start": 10, "stop": 17}}
GOOD = {"good": True, "wrong": [], "label": "20261124-020000F", "seconds": 9, "lag_s": 100}


class Nodes:
    """Members of PostgreSQL: what each step answers, and every step that was asked of whom."""

    def __init__(self):
        self.roles = {"e1": "primary", "e2": "standby"}
        self.leader, self.asked, self.answers = "e1", [], {}

    def run(self, node, command, *, timeout=60.0, stdin=None):
        words = shlex.split(command)
        if words[0] == "systemctl":
            self.asked.append((node, " ".join(words)))
            return answer(node, command)
        step = " ".join(words[1:])
        self.asked.append((node, step))
        given = self.answers.get((node, step), self.answers.get(step))
        if given is None:
            given = {"out": json.dumps(self.usual(node, step)) + "\n"}
        if step == "restore stop":
            self.roles[node], self.leader = "", ""
        return answer(node, command, **given)

    def usual(self, node, step):
        verb = step.split()[1] if step.startswith("restore") else step
        return {
            "list": {"backups": [BACKUP]},
            "backup": MADE,
            "backup full": MADE,
            "verify": GOOD,
            "role": {"role": self.roles[node]},
            "leader": {"leader": self.leader},
            "prepare": {"label": "20261124-020000F", "last": "2026-11-24 11:59:59+00"},
            "finish": {"aside": f"/data/{node}.before", "timeline": 3},
            "copy": {"aside": f"/data/{node}.before"},
        }.get(verb, {})

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {node: self.run(node, command) for node, command in commands.items()}

    def close(self, nodes=None):
        pass

    def steps(self):
        """Return what changed something, in order."""
        plain = ("restore role", "restore leader")
        return [(node, step.removeprefix("restore ")) for node, step in self.asked if step not in plain]


@pytest.fixture
def nodes(monkeypatch, tmp_path):
    made = Nodes()
    monkeypatch.setattr(App, "fleet", lambda self: made)

    @contextmanager
    def free(*words, **more):
        yield

    monkeypatch.setattr(site_lock, "lock_site", free)
    return made


@pytest.fixture
def run(tmp_path, nodes):
    def call(*words, site=SITE):
        path = tmp_path / "site.yml"
        path.write_text(site)
        return CliRunner().invoke(cli, ["--site", str(path), "database", *words], standalone_mode=False)

    return call


TO = "2026-11-24T12:00:00+01:00"
OVER = ("restore", "--to", TO, "--over-living", "room")


def test_backups_are_listed_by_the_first_node_that_answers(run, nodes):
    gone = {"error": Reason(Why.NO_ROUTE, "no route")}
    nodes.answers["e1", "list"] = gone
    done = run("backups")
    assert (done.exception, done.return_value) == (None, 0)
    assert "20261124-020000F" in done.output
    assert "Any time since 2026-11-24T02:01:40Z" in done.output
    nodes.answers["e2", "list"] = gone
    assert len(refusals(run("backups"))) == 2


def test_no_backup_is_something_bad(run, nodes):
    nodes.answers["list"] = {"out": '{"backups": []}\n'}
    assert run("backups").return_value == 1
    assert json.loads(run("backups", "--json").output)["backups"] == []


def test_a_backup_is_made_by_the_primary_and_proven_by_the_standby(run, nodes):
    nodes.roles = {"e1": "standby", "e2": "primary"}
    run("backup", "--full")
    assert nodes.steps()[-1] == ("e2", "backup full")
    assert run("verify").return_value == 0
    assert nodes.steps()[-1] == ("e1", "verify")


def test_what_is_wrong_with_a_backup_is_reported(run, nodes):
    wrong = {**GOOD, "good": False, "wrong": ["ava: public.charges is missing"]}
    nodes.answers["verify"] = {"rc": 1, "out": f"restoring\n{json.dumps(wrong)}\n"}
    done = run("verify")
    assert done.return_value == 1
    assert "public.charges is missing" in done.output


def test_a_node_s_own_words_and_remedy_are_reported(run, nodes):
    text = "avadm-database: the repository says: nothing. Remedy: see that the store answers\n"
    nodes.answers["backup"] = {"rc": 2, "err": text}
    (finding,) = refusals(run("backup"))
    assert (finding.found, finding.remedy) == ("the repository says: nothing.", "See that the store answers")


@pytest.mark.parametrize("word", [(), ("--over-living", "e1"), ("--over-living", "")])
def test_a_living_database_is_not_replaced_without_the_site_s_name(run, nodes, word):
    (finding,) = refusals(run("restore", "--to", TO, *word))
    assert finding.check == "database-lives"
    assert "e1 is the primary" in finding.found
    assert nodes.steps() == []


def test_nor_one_that_etcd_alone_knows_of(run, nodes):
    nodes.roles = {"e1": "", "e2": ""}
    (finding,) = refusals(run("restore", "--to", TO))
    assert "etcd says that e1 leads" in finding.found
    assert nodes.steps() == []


def test_a_node_that_cannot_be_asked_may_be_at_work(run, nodes):
    nodes.answers["e2", "restore role"] = {"error": Reason(Why.NO_ROUTE, "no route")}
    (finding,) = refusals(run(*OVER))
    assert finding.host == "e2"
    assert nodes.steps() == []


STEPS = [
    ("e1", "prepare 2026-11-24 11:00:00.000+00"),
    ("e2", "stop"),
    ("e1", "stop"),
    ("e1", "finish"),
    ("e1", "forget"),
    ("e1", "first"),
    ("e2", "copy"),
    ("e1", "systemctl start --no-block avadm-database-look.service"),
]


def test_a_restore_goes_its_steps_in_order_and_is_written_down(run, nodes, tmp_path):
    done = run(*OVER, "--json")
    assert done.exception is None
    assert [(n, s.replace("'", "")) for n, s in nodes.steps()] == STEPS
    report = json.loads(done.output[done.output.index("{") :])
    assert (report["result"], report["lived"], report["timeline"]) == ("good", ["e1", "e2"], 3)
    assert report["kept"] == {"e1": "/data/e1.before", "e2": "/data/e2.before"}
    (kept,) = (tmp_path / "runs").glob("*-database-restore/restore.json")
    assert json.loads(kept.read_text()) == report


def test_of_a_database_that_is_dead_nothing_has_to_be_shown(run, nodes):
    nodes.roles, nodes.leader = {"e1": "", "e2": ""}, ""
    assert run("restore", "--to", "latest").exception is None
    assert nodes.steps()[0] == ("e1", "prepare")


def test_a_backup_that_cannot_be_restored_leaves_all_as_it_was(run, nodes):
    nodes.answers[STEPS[0][0], "restore " + STEPS[0][1]] = {
        "rc": 2,
        "err": "avadm-database: no room. Remedy: free some\n",
    }
    (finding,) = refusals(run(*OVER))
    assert finding.found == "no room."
    assert nodes.steps() == STEPS[:1]


def test_members_start_again_where_the_restored_data_are_of_no_use(run, nodes):
    nodes.answers["e1", "restore finish"] = {
        "rc": 2,
        "err": "avadm-database: the restored server ended: why\n",
    }
    refusals(run(*OVER))
    assert nodes.steps()[4:] == [(n, "systemctl start --no-block patroni") for n in ("e1", "e2")]


def test_no_one_starts_the_former_data_once_they_are_replaced(run, nodes):
    nodes.answers["e1", "restore first"] = {"rc": 2, "err": "avadm-database: it does not serve\n"}
    refusals(run(*OVER))
    assert not any("patroni" in step for _, step in nodes.steps())


@pytest.mark.parametrize(
    ("to", "what"),
    [
        ("yesterday", "no time"),
        ("2026-11-24T12:00:00", "does not say in which zone"),
        ("2999-01-01T00:00:00Z", "not come yet"),
    ],
)
def test_a_time_is_a_past_one_with_its_zone(run, nodes, to, what):
    (finding,) = refusals(run("restore", "--to", to))
    assert what in finding.what
    assert nodes.asked == []


def test_a_site_without_backups_is_informed(run, nodes):
    (finding,) = refusals(run("backups", site=SITE.replace(", backup: {directory: /mnt/backups}", "")))
    assert finding.check == "no-backups"
