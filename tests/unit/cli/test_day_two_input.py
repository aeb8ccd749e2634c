"""Bad input of the verbs of day two, each as a user types it: exit status 2, the findings of the page, nothing changed."""

import functools
import json
import shlex
import time

import pytest
from click.testing import CliRunner

from avadm.cli.main import cli
from avadm.errors import AvadmError
from avadm.operations import run as operations
from avadm.operations import upgrade, upgrade_ava
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.controls.day_two import VERBS
from tests.controls.day_two_input import GOOD, ROWS
from tests.unit.cli.test_apply_lock import plant
from tests.unit.fakes.cli import avadm, playbooks, reached
from tests.unit.fakes.nodes import Nodes, called, given
from tests.unit.operations import (
    ava_versions,
    cache_room,
    disk_room,
    power_room,
    removal_room,
    test_node_verbs,
    test_upgrade,
    test_upgrade_ava,
)
from tests.unit.operations.running_site import RunningSite

__all__ = ["avadm", "playbooks"]

BUILD, BUILD_AVA = upgrade.build, upgrade_ava.build
KEPT_BY_NODES = ("lock.do", "peers.")


class Locked(Nodes):
    """Nodes that are folders for what they keep of a site, before a cluster that answers everything else."""

    def __init__(self, root, behind):
        super().__init__(root)
        self.behind = behind

    def run(self, node, command, *, timeout=60.0, stdin=None):
        kept = command.startswith("cat ") or (
            stdin is not None and ("items" in given(stdin) or called(stdin).startswith(KEPT_BY_NODES))
        )
        return (super() if kept else self.behind).run(node, command, timeout=timeout, stdin=stdin)

    def map(self, commands, **more):
        return {node: self.run(node, command, **more) for node, command in commands.items()}


class Site:
    """One of the sites on which rows are tried.

    Attributes:
        path: the site file.
        fleet: ssh to its nodes.
        changed: returns what tells whether the cluster was changed.
    """

    def __init__(self, folder, room, monkeypatch):
        self.path, self.folder = folder / "site.yml", folder
        self.versions = None
        getattr(self, f"_{room}")(monkeypatch)

    def _cluster(self, monkeypatch):
        self.path.write_text(test_node_verbs.SITE)
        self.fleet = removal_room.Room(self.folder / "nodes")
        self.changed = lambda: (self.fleet.acts, json.dumps(self.fleet.osds), sorted(self.fleet.mons))

    def _maintenance(self, monkeypatch):
        self.path.write_text(test_node_verbs.SITE)
        site = RunningSite(load(self.path).site)
        self.fleet = Locked(self.folder / "nodes", site)
        self.changed = lambda: site.marks

    def _disks(self, monkeypatch):
        room = disk_room.Room.of(self.path)
        self.fleet = Locked(self.folder / "nodes", room)
        self.changed = lambda: (list(room.changes), list(room.lit), set(room.noout))

    def _power(self, monkeypatch):
        self.path.write_text(test_node_verbs.SITE)
        room = power_room.PowerRoom(load(self.path).site)
        self.fleet = Locked(self.folder / "nodes", room)
        self.changed = lambda: (list(room.order), room.marks, list(room.off))

    def _versions(self, monkeypatch):
        self.path.write_text(test_upgrade.SITE)
        room = test_upgrade.Room(self.path)
        self.versions = room.versions
        self.fleet = Locked(self.folder / "nodes", None)
        monkeypatch.setattr(upgrade, "build", functools.partial(_build, BUILD, room))
        self.changed = lambda: (list(room.brought), list(room.etcd.snapshots))

    def _ava(self, monkeypatch):
        self.path.write_text(test_upgrade_ava.SITE)
        self.ava = ava_versions.Ava(None)
        self.fleet = Locked(self.folder / "nodes", None)
        monkeypatch.setattr(upgrade_ava, "build", functools.partial(_build_ava, BUILD_AVA, self.ava))
        self.changed = lambda: (list(self.ava.did), self.ava.revision, self.ava.runs)

    def _cache(self, monkeypatch):
        self.path.write_text(cache_room.SITE)
        self.fleet = cache_room.Cache(self.folder / "nodes")
        names = cache_room.MASTERS
        self.changed = lambda: [(self.fleet.journal(name), self.fleet.unit(name)) for name in names]

    def plant(self, row, monkeypatch):
        """Do what a row has done before its command."""
        if row.verb == "maintenance end" and row.fault:
            note = {"nodes": ["stor4"], "reason": "x", "user": "ops", "since": 1.0, "until": time.time() + 99}
            SiteState.of(self.path, "t").drop_operation("", {"maintenance stor4": note})
        if row.verb == "disk replace" and row.fault:
            self.fleet.behind.die(0, recovered=True)
            self.fleet.behind.insert("stor1", "wwn-N1")
        if row.fault == "locked":
            site = load(self.path).site
            nodes = [n.name for n in site.with_role("mon") or site.nodes]
            plant(self.fleet, nodes, machine="elsewhere", host="desk7")
        elif row.fault == "vault":
            self.path.with_suffix(".vault.yml").unlink()
        elif row.fault == "edited":
            monkeypatch.setattr(operations, "plan", functools.partial(_edited, operations.plan, self.path))
        elif row.fault and row.room == "ava":
            name, _, value = row.fault.partition("=")
            setattr(self.ava, name, value)
        elif row.fault:
            name, _, version = row.fault.partition("=")
            self.versions.update({key: version for key in self.versions if key[1] == name})

    def files(self):
        """Return all that the controller and the nodes keep, but for the lock of the runs of one controller."""
        names = ["site.yml", "site.vault.yml", "site.pki.json", "known_hosts"]
        paths = [self.folder / name for name in names] + [*(self.folder / ".avadm").rglob("*")]
        paths += [*(self.folder / "nodes").rglob("*")]
        lock = self.folder / ".avadm/t/lock"
        return {str(path): path.read_bytes() for path in paths if path.is_file() and path != lock}


def _build(build, room, components, to, **options):
    return build(components, to, lambda cluster: room, **options)


def _build_ava(build, ava, accepted=()):
    def make(cluster):
        ava.cluster = cluster
        return ava

    return build(accepted, make, lambda: ava_versions.MIGRATIONS)


def _edited(plan, path, *words):
    """Plan, and then have the site file edited, as a colleague does while the plan is read."""
    found = plan(*words)
    path.write_text(path.read_text().replace("domain: ", "domain: other."))
    return found


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """For the fixtures that this one precedes; each row has nodes of its own."""
    return reached(Nodes(tmp_path / "none"), monkeypatch)


@pytest.fixture
def tried(avadm, playbooks, tmp_path, monkeypatch):
    """Return a function: try a row; the site, what it kept before, and the result."""

    def run(row):
        monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
        site = Site(tmp_path, row.room, monkeypatch)
        if row.fault == "vault":
            # Something was made with the vault.
            whole = reached(Nodes(tmp_path / "nodes"), monkeypatch)
            playbooks.nodes = whole
            assert avadm("apply", "base").exit_code == 0
        reached(site.fleet, monkeypatch)
        site.plant(row, monkeypatch)
        before = site.files(), site.changed()
        playbooks.requests.clear()
        yes = () if row.verb == "node drain" else ("--yes",)
        return site, before, avadm(*row.verb.split(), *shlex.split(row.words), *yes)

    return run


def label(row):
    return f"{row.verb}: {row.kind}"


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_bad_input_is_refused_and_nothing_has_changed(row, tried, playbooks):
    site, (files, changed), result = tried(row)
    if row.checks:
        assert isinstance(result.exception, AvadmError), (result.output, result.exception)
        assert result.exception.exit_code == 2
        assert tuple(dict.fromkeys(f.check for f in result.exception.findings)) == row.checks
        assert all(f.what for f in result.exception.findings)
    else:
        assert result.exit_code == 2, result.output
        assert "Usage:" in result.output
    after = site.files()
    if row.fault == "edited":
        del files[str(site.path)], after[str(site.path)]
    assert after == files
    assert site.changed() == changed
    assert playbooks.requests == []
    assert not (site.folder / "runs").exists() or row.fault == "vault"


def test_each_verb_with_a_plan_has_rows_of_every_fault():
    assert {row.verb for row in ROWS} <= set(VERBS)
    for verb in GOOD:
        assert {row.fault for row in ROWS if row.verb == verb} >= {"locked", "vault", "edited"}
    assert len({label(row) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("verb", [verb for verb in GOOD if verb != "node add"])
def test_the_same_words_without_the_fault_are_not_refused(verb, tried, tmp_path, monkeypatch):
    """The control: what the faults' rows refuse is planned where nothing is planted."""
    words, room = GOOD[verb]
    site = Site(tmp_path, room, monkeypatch)
    row = next(r for r in ROWS if r.verb == verb and r.fault == "locked")
    monkeypatch.setattr("tests.unit.cli.test_day_two_input.plant", lambda *_, **__: None)
    site.plant(row, monkeypatch)
    reached(site.fleet, monkeypatch)
    done = CliRunner().invoke(
        cli, ["--site", str(site.path), *verb.split(), *shlex.split(words), "--dry-run", "--json"]
    )
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout)["refused"] == []


@pytest.mark.parametrize(
    ("verb", "once", "twice", "room"),
    [
        ("maintenance begin", "stor4", "stor4 stor4", "maintenance"),
        ("upgrade", "etcd", "etcd etcd", "versions"),
    ],
)
def test_a_repeated_name_counts_once(verb, once, twice, room, tmp_path, monkeypatch, avadm):
    more = "--for 2h --reason memory" if room == "maintenance" else "--to lab-bookworm-newer"
    plans = []
    for words in (once, twice):
        site = Site(tmp_path, room, monkeypatch)
        reached(site.fleet, monkeypatch)
        done = avadm(*verb.split(), *shlex.split(f"{words} {more}"), "--dry-run", "--json")
        assert done.exit_code == 0, (done.output, done.exception)
        plans.append([step["name"] for step in json.loads(done.stdout)["steps"]])
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("ava --notice 1h --stop-runs", "--notice, --stop-runs: the upgrade of ava"),
        ("ava --as root2", "--as: the upgrade of ava"),
        ("etcd haproxy --to lab-bookworm-newer --timeout 60", "--timeout: the upgrade of etcd, haproxy"),
        ("etcd docker --to lab-bookworm-newer --timeout 60", ""),
        ("--to lab-bookworm-newer --notice 1h", ""),
    ],
)
def test_options_of_a_drain_are_refused_by_name_where_no_node_is_drained(
    words, named, tmp_path, monkeypatch, avadm
):
    reached(Site(tmp_path, "versions", monkeypatch).fleet, monkeypatch)
    done = avadm("upgrade", *shlex.split(words), "--dry-run")
    if named:
        assert (done.exit_code, f"Invalid {named} drains no node." in done.output) == (2, True), done.output
    else:
        assert "drains no node" not in done.output
