"""`avadm cache masters`: one to three and back without a mount lost, killed anywhere, put back where it fails."""

import pytest

from avadm.errors import AvadmError
from avadm.operations import cache_masters as verb
from avadm.operations import run
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.operations.cache_room import MASTERS, MOUNTS, SITE, Cache


class Site:
    def __init__(self, folder, room):
        self.path, self.room, self.lines = folder / "site.yml", room, []
        self.path.write_text(SITE)
        self.fails = 0

    def follow(self, site_file, tell):
        self.room.count()
        if self.fails:
            self.fails -= 1
            raise AvadmError.of("follow-failed", found="cache")
        self.room.phase(site_file)

    def build(self, names, accepted=()):
        ahead = lambda *words: self.room.count()  # noqa: E731
        return lambda cluster: verb.build(cluster, names, accepted, self.follow, ahead)

    def refusals(self, *names):
        return {one.check for one in run.plan(load(self.path), self.room, self.build(names)).refusals}

    def change(self, *names, accepted=()):
        clock = Clock()
        # A gate that stays shut is asked a few times, each by real shells.
        timed = run.Clock(clock, lambda seconds: clock.sleep(20 * seconds))
        build = self.build(names, accepted)
        return run.run(load(self.path), self.room, build, accepted, self.lines.append, clock=timed)

    @property
    def masters(self):
        return tuple(n.name for n in load(self.path).site.with_role(verb.ROLE))

    def left(self):
        """Return what of the operation is still on nodes."""
        found = [self.room.home(name) / path[1:] for name in MASTERS for path in (verb.FOLDER, verb.DROP_IN)]
        return [str(path) for path in found if path.exists()]


@pytest.fixture
def room(tmp_path):
    return Cache(tmp_path)


@pytest.fixture
def site(tmp_path, room):
    return Site(tmp_path, room)


def test_one_master_becomes_three_with_all_mounts_and_the_former_journal_is_kept(site, room):
    site.change(*MASTERS)
    assert site.masters == MASTERS
    assert {room.journal(name) for name in MASTERS} == {MOUNTS}
    assert site.left() == []
    (kept,) = (room.home("comp1") / "var/lib/alluxio").glob("journal.removed-*")
    assert (kept / "log").read_text() == MOUNTS
    assert "# Bought in 2024." in site.path.read_text()


def test_three_masters_become_one_and_those_that_leave_are_disabled(site, room):
    site.change(*MASTERS)
    site.change("comp2")
    assert site.masters == ("comp2",)
    assert room.journal("comp2") == MOUNTS
    assert [room.unit(name) for name in MASTERS] == ["inactive", "active", "inactive"]
    assert any("disable --now avadm-alluxio-master" in line for node, line in room.scripts if node == "comp3")


def test_a_master_that_leaves_is_not_shut_off_before_it_stopped(site, room):
    def first_step(*names):
        return run.plan(load(site.path), room, site.build(names)).steps[0].name

    assert "filter" in first_step(*MASTERS)
    site.change(*MASTERS)
    assert "filter" not in first_step("comp2")


def test_the_backup_is_readable_by_root_alone_and_no_option_of_a_mount_is_shown(site, room):
    site.fails = 1
    with pytest.raises(AvadmError):
        site.change(*MASTERS)
    for name in MASTERS:
        home = room.home(name)
        assert (home / verb.BACKUP[1:]).stat().st_mode & 0o777 == 0o600
        assert "SECRET" not in (home / verb.MOUNTS[1:]).read_text()
    assert not [line for line in site.lines if "SECRET" in line]
    site.change(*MASTERS)
    assert {room.journal(name) for name in MASTERS} == {MOUNTS}
    assert site.left() == []


@pytest.mark.parametrize(
    "acts", [1, 10, 17, 28, *(pytest.param(n, marks=pytest.mark.slow) for n in (6, 8, 12, 14, 20, 24))]
)
def test_a_command_that_was_killed_is_continued_by_the_same_one(site, room, acts):
    room.killed_after = acts
    with pytest.raises(KeyboardInterrupt):
        site.change(*MASTERS)
    room.killed_after = None
    site.change(*MASTERS)
    assert site.masters == MASTERS
    assert {room.journal(name) for name in MASTERS} == {MOUNTS}
    assert site.left() == []


def test_a_backup_that_is_not_whole_stops_nothing(site, room):
    (room.base / "broken").touch()
    with pytest.raises(AvadmError) as error:
        site.change(*MASTERS)
    assert error.value.findings[0].check == "cache-backup"
    assert room.unit("comp1") == "active"
    assert room.journal("comp1") == MOUNTS
    assert site.masters == ("comp1",)


def test_a_master_that_does_not_stop_is_put_back(site, room, monkeypatch):
    shell = room.shell
    stuck = lambda node, line: "mv /var/lib/alluxio/journal" in line and "removed" in line and node == "comp1"  # noqa: E731

    def run_on(node, line):
        if stuck(node, line):
            shell(node, line)
            return shell(node, "echo the disk is gone >&2; exit 1")
        return shell(node, line)

    monkeypatch.setattr(room, "shell", run_on)
    with pytest.raises(AvadmError):
        site.change(*MASTERS)
    assert room.unit("comp1") == "active"
    assert room.journal("comp1") == MOUNTS
    assert site.masters == ("comp1",)
    assert not (room.home("comp2") / verb.BACKUP[1:]).exists()


def test_masters_that_crashed_are_no_reason_to_take_an_earlier_backup(site, room):
    for name in MASTERS:
        folder = room.home(name) / verb.FOLDER[1:]
        folder.mkdir()
        room.put(name, b"", verb.BACKUP)
    (room.base / "leader").unlink()
    assert "cache-command" in site.refusals(*MASTERS)


def test_a_mount_that_is_lost_keeps_the_gate_shut(site, room, monkeypatch):
    phase = room.phase

    def loses(site_file, tell=None):
        phase(site_file)
        for name in MASTERS:
            room.serve(name, MOUNTS.splitlines(keepends=True)[0], "EMBEDDED")

    monkeypatch.setattr(room, "phase", loses)
    with pytest.raises(AvadmError) as error:
        site.change(*MASTERS)
    assert "/by-hand" in error.value.findings[0].found
    monkeypatch.setattr(room, "phase", phase)
    assert SiteState.of(site.path, "t").begun()


def test_a_master_that_is_not_in_the_quorum_keeps_the_gate_shut(site, room, monkeypatch):
    phase = room.phase

    def two(site_file, tell=None):
        phase(site_file)
        path = room.base / "quorum"
        path.write_text(path.read_text().replace("AVAILABLE   | 0 | comp3", "UNAVAILABLE | 0 | comp3"))

    monkeypatch.setattr(room, "phase", two)
    with pytest.raises(AvadmError) as error:
        site.change(*MASTERS)
    assert "2 of 3 masters" in error.value.findings[0].found


def test_a_mount_in_use_refuses_and_accepted_it_is_left(site, room):
    room.users = {"comp3": ["process 7 (train)"]}
    assert "cache-mount-in-use" in site.refusals(*MASTERS)
    site.change(*MASTERS, accepted=("cache-mount-in-use",))
    left = [line.split(":")[0].strip() for line in site.lines if "its mount asks the former masters" in line]
    assert left == ["comp3"]


@pytest.mark.parametrize(
    ("names", "check"),
    [
        (("comp1", "nope"), "unknown-node"),
        (("comp1",), "cache-masters-known"),
        (("comp2", "comp2", "comp3"), "cache-masters-known"),
        (("comp1", "comp2"), "quorum-even"),
    ],
)
def test_what_is_no_change_is_refused(site, names, check):
    assert check in site.refusals(*names)


def test_a_node_that_does_not_answer_refuses(site, room):
    room.silent.add("comp2")
    assert "cache-master-silent" in site.refusals(*MASTERS)
