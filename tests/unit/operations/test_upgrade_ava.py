"""`avadm upgrade ava`: planned and refused before anything changes, dumped, migrated, rolled out, taken back, continued."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from avadm.cluster.connection import Cluster
from avadm.cluster.settings import Settings
from avadm.errors import AvadmError
from avadm.operations import run as framework
from avadm.operations import upgrade_ava as module
from avadm.operations.ava_migrations import Migration
from avadm.operations.ava_platform import Release
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.operations.ava_versions import FORMER, MIGRATIONS, NEWEST, Ava

SITE = """
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250, ingress_vip: 10.0.0.252}
nodes:
  - {name: m1, address: 10.0.0.1, roles: [master, etcd]}
  - {name: m2, address: 10.0.0.2, roles: [master, etcd]}
  - {name: m3, address: 10.0.0.3, roles: [master, etcd]}
  - {name: r1, address: 10.0.0.9, roles: [worker, registry]}
  - {name: w1, address: 10.0.0.4, roles: [worker, prometheus, alertmanager, dns, database, ingress]}
  - {name: w2, address: 10.0.0.5, roles: [worker, prometheus, alertmanager, dns, database, ingress]}
components: {database: {vip: 10.0.0.251}, ava: {}}
"""
WHOLE = ["dump 0001", f"keep {FORMER.tag}", "migrate", "roll"]
NO_WAY_BACK = [MIGRATIONS[0], replace(MIGRATIONS[1], compatible=False)]


class Room:
    """A site with AVA, and avadm at work on it."""

    def __init__(self, path):
        self.path, self.lines, self.migrations = path, [], list(MIGRATIONS)
        self.clock = Clock()
        self.site_file = load(path)
        self.cluster = Cluster(self.site_file, None, SiteState.of(path, "t"))
        self.ava = Ava(self.cluster)

    def again(self):
        """As the next command sees the site."""
        self.cluster = Cluster(self.site_file, None, SiteState.of(self.path, "t"))
        self.ava.cluster = self.cluster
        self.lines = []

    def plan(self, *accepted):
        time = framework.Clock(self.clock, self.clock.sleep)
        make = module.build(accepted, lambda cluster: self.ava, lambda: self.migrations, time)
        return make(self.cluster)

    def codes(self):
        return sorted({f.check for f in self.plan().refusals})

    def run(self, *accepted):
        operation = self.plan(*accepted)
        assert framework.refused(operation, accepted) == []
        settings = Settings(self.cluster, self.lines.append)
        time = framework.Clock(self.clock, self.clock.sleep)
        return framework._recorded(self.cluster, operation, settings, self.lines.append, time)

    @property
    def half_done(self):
        return [one.command for one in SiteState.of(self.path, "t").begun()]


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    return Room(tmp_path / "site.yml")


def test_the_plan_names_versions_migrations_interruptions_and_changes_nothing(room):
    plan = room.plan()
    assert (plan.command, plan.refusals) == ("avadm upgrade ava", [])
    assert plan.components == {"ava", "database"}
    assert f"AVA {FORMER.tag} → {NEWEST.tag}" in plan.packages
    assert "AVA's database 0002 (names of things)" in plan.packages
    assert [bool(step.undo) for step in plan.steps] == [False, False, True, True]
    assert not any("no rollback" in step.name for step in plan.steps)
    shown = "\n".join(framework.show(plan))
    assert "ssh and browser" in shown and "for up to 30 s" in shown
    assert json.dumps(plan.as_dict())
    assert room.ava.did == [] and room.half_done == []


def test_it_dumps_keeps_migrates_and_rolls_in_this_order(room):
    room.run()
    assert room.ava.did == WHOLE
    assert (room.ava.runs, room.ava.revision) == (NEWEST, "0002")
    assert room.half_done == []


def test_a_second_run_has_nothing_to_do(room):
    room.run()
    room.again()
    room.ava.did.clear()
    plan = room.plan()
    assert (plan.steps, plan.refusals, plan.interrupts, plan.packages) == ((), [], (), ())
    room.run()
    assert room.ava.did == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"built": False}, "artifact-missing"),
        ({"revision": "0009"}, "upgrade-database-newer"),
        ({"sick": {"w2": "it is no member"}}, "upgrade-unhealthy"),
        ({"way": "HTTP 502"}, "upgrade-unhealthy"),
        ({"away": {"r1"}}, "upgrade-unhealthy"),
        ({"free": 100}, "upgrade-dump-space"),
        ({"images": set()}, "upgrade-former-image"),
        ({"written": ""}, "upgrade-former-manifests"),
        ({"parts": []}, "upgrade-not-installed"),
        ({"newest_is": Release("0.0.9-bbbbbbbbbbbb", "0.0.9-x")}, "upgrade-downgrade"),
        ({"deployed": {"api": "0.1.0-cccccccccccc"}}, "upgrade-mixed-versions"),
    ],
)
def test_what_forbids_it_is_refused_before_anything_changes(room, change, code):
    vars(room.ava).update(change)
    assert code in room.codes()
    assert room.ava.did == []


def test_all_refusals_come_in_one_pass(room):
    vars(room.ava).update(way="HTTP 502", sick={"w2": "away"}, free=1, images=set())
    room.migrations = NO_WAY_BACK
    assert room.codes() == [
        "upgrade-dump-space",
        "upgrade-former-image",
        "upgrade-migration",
        "upgrade-unhealthy",
    ]


def test_a_hash_is_no_part_of_a_version(room):
    room.ava.runs = Release("0.1.0-9aaaaaaaaaaa", FORMER.version)
    room.ava.images, room.ava.written = {room.ava.runs.tag}, room.ava.runs.tag
    assert room.codes() == []


def test_a_site_without_ava_is_refused(room):
    site = room.site_file.site
    bare = site.model_copy(update={"components": site.components.model_copy(update={"ava": None})})
    room.cluster = Cluster(replace(room.site_file, site=bare), None, room.cluster.state)
    assert room.codes() == ["upgrade-no-node"]


def test_a_migration_that_the_former_version_cannot_use_is_accepted_by_its_id_and_the_plan_says_so(room):
    room.migrations = NO_WAY_BACK
    plan = room.plan()
    assert [f.check for f in framework.refused(plan, [])] == ["upgrade-migration"]
    assert framework.refused(plan, ["upgrade-migration"]) == []
    assert [step.undo for step in plan.steps] == [None] * 4
    assert [step.name.endswith("no rollback") for step in plan.steps] == [False, False, True, True]
    assert any("cannot use the migrated tables" in one.what for one in plan.interrupts)
    room.run("upgrade-migration")
    assert room.ava.runs == NEWEST


def test_other_refusals_are_never_accepted(room):
    room.ava.way = "HTTP 502"
    with pytest.raises(AvadmError) as error:
        framework.refused(room.plan(), ["upgrade-unhealthy"])
    assert error.value.findings[0].check == "accept-unknown"


@pytest.mark.parametrize("silent", [{"operator"}, {"scheduler"}, {"api-0"}])
def test_a_version_that_does_not_work_is_taken_back_and_the_former_runs(room, silent):
    room.ava.silent = silent
    with pytest.raises(AvadmError) as error:
        room.run()
    assert error.value.findings[0].check == "gate-closed" and error.value.exit_code == 1
    assert room.ava.did == [*WHOLE, f"restore {FORMER.tag}"]
    assert (room.ava.runs, room.ava.revision) == (FORMER, "0002"), "the database keeps what was migrated"
    assert room.half_done == ["avadm upgrade ava"]


def test_after_a_rollback_the_same_command_rolls_out_a_fixed_version(room):
    room.ava.silent = {"operator"}
    with pytest.raises(AvadmError):
        room.run()
    room.again()
    fixed = Release("0.1.0-dddddddddddd", "0.1.0-sources3")
    vars(room.ava).update(newest_is=fixed, silent=set(), did=[])
    room.run()
    assert room.ava.did == ["migrate", "roll"]
    assert room.ava.runs == fixed and room.half_done == []


def test_without_a_way_back_nothing_is_taken_back(room):
    room.migrations = NO_WAY_BACK
    room.ava.silent = {"operator"}
    with pytest.raises(AvadmError):
        room.run("upgrade-migration")
    assert room.ava.did == WHOLE and room.ava.runs == NEWEST


def test_a_failed_migration_leaves_the_former_version_at_work(room):
    room.ava.fails_in = "migrate"
    with pytest.raises(AvadmError):
        room.run()
    assert room.ava.did == [*WHOLE[:3], f"restore {FORMER.tag}"] and room.ava.runs == FORMER


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("verb", ["dump", "keep", "migrate", "roll"])
def test_it_continues_where_it_was_killed(room, verb, late):
    room.ava.killed_in = (verb, late)
    with pytest.raises(KeyboardInterrupt):
        room.run()
    assert room.half_done == ["avadm upgrade ava"]
    room.again()
    room.run()
    assert (room.ava.runs, room.ava.revision, room.half_done) == (NEWEST, "0002", [])
    assert {revision for _, revision in room.ava.dumps} == {"0001"}, "no dump of migrated tables"
    assert not any(one.startswith("restore") for one in room.ava.did)


@pytest.mark.parametrize("late", [False, True])
def test_a_version_that_fails_after_a_kill_is_taken_back_too(room, late):
    room.ava.killed_in = ("roll", late)
    with pytest.raises(KeyboardInterrupt):
        room.run()
    room.again()
    room.ava.silent = {"scheduler"}
    with pytest.raises(AvadmError):
        room.run()
    assert room.ava.runs.tag == FORMER.tag


def test_after_a_kill_a_way_back_that_was_lost_is_not_assumed(room):
    room.migrations = NO_WAY_BACK
    room.ava.killed_in = ("roll", True)
    with pytest.raises(KeyboardInterrupt):
        room.run("upgrade-migration")
    room.again()
    assert room.ava.revision == "0002", "no migration is left"
    assert all(step.undo is None for step in room.plan().steps)
    # The dump that says so is gone: not even then.
    room.ava.dumps.clear()
    assert all(step.undo is None for step in room.plan().steps)


def test_the_half_done_upgrade_blocks_ava_and_the_database(room):
    room.ava.killed_in = ("roll", False)
    with pytest.raises(KeyboardInterrupt):
        room.run()
    room.again()
    for component in ("ava", "database"):
        (found,) = framework.half_done(room.cluster.state, [component], "avadm apply")
        assert (found.check, found.where) == ("operation-half-done", "avadm upgrade ava")


def test_a_stopped_upgrade_continues_where_its_dump_took_the_space(room):
    room.ava.killed_in = ("roll", False)
    with pytest.raises(KeyboardInterrupt):
        room.run()
    room.again()
    room.ava.free = 1
    room.run()
    assert room.ava.runs == NEWEST


def test_a_worker_that_is_away_is_left_out(room):
    room.ava.away = {"w2"}
    plan = room.plan()
    assert plan.refusals == [] and "w2" not in plan.nodes


def test_a_process_of_another_version_keeps_the_gate_closed():
    seen = Ava(None, runs=NEWEST).seen()
    assert module._wrong(["api"], seen, NEWEST) == []
    old = [replace(one, version=FORMER.version) if one.name == "gate-1" else one for one in seen.pods]
    assert module._wrong(["api"], replace(seen, pods=old), NEWEST) == [f"gate-1 reports {FORMER.version}"]
    mute = [replace(one, version="") if one.name == "api-0" else one for one in seen.pods]
    assert module._wrong(["api"], replace(seen, pods=mute), NEWEST) == ["api-0 reports no version"]
    still = [replace(one, figures={}) if one.name == "operator-0" else one for one in seen.pods]
    assert module._wrong(["api"], replace(seen, pods=still), NEWEST) == ["no operator acts"]


def test_pods_that_end_are_not_waited_for():
    seen = Ava(None, runs=NEWEST).seen()
    old = replace(seen.pods[0], name="api-9", tag=FORMER.tag, ready=False, ending=True)
    assert module._wrong(["api"], replace(seen, pods=[*seen.pods, old]), NEWEST) == []


@pytest.mark.parametrize("words", [["ava", "etcd"], ["ava", "--to", "x"], ["etcd", "ava", "--to", "x"]])
def test_ava_is_upgraded_alone_and_without_a_profile(words, monkeypatch):
    from avadm.cli.main import App
    from avadm.cli.upgrade import upgrade

    done = CliRunner().invoke(upgrade, words, obj=App())
    assert isinstance(done.exception, AvadmError)
    assert done.exception.findings[0].check == "upgrade-alone"


def test_components_of_profiles_need_one():
    from avadm.cli.main import App
    from avadm.cli.upgrade import upgrade

    done = CliRunner().invoke(upgrade, ["etcd"], obj=App())
    assert done.exit_code == 2 and "--to" in done.output


def test_a_migration_between_that_is_unknown_is_no_way_back(room):
    assert room.plan().steps[-1].undo is not None
    room.migrations = [*MIGRATIONS, Migration("0003", "0002", "more", False)]
    room.ava.head = "0003"
    assert room.codes() == ["upgrade-migration"]
