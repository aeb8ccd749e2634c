"""Operations: refused early, one gate after each step, settings undone at every end, resumed by the same command."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from avadm.catalogue import finding
from avadm.cluster import settings as settings_module
from avadm.cluster.connection import Cluster
from avadm.cluster.half_done import half_done
from avadm.cluster.setting import Setting
from avadm.cluster.settings import Settings
from avadm.errors import AvadmError
from avadm.operations import run as module
from avadm.operations.model import Gate, Operation, Progress, Step
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.state.operations import SettingRecord
from avadm.state.site_state import SiteState
from tests.unit.fakes import sites
from tests.unit.fakes.clock import Clock


@dataclass(frozen=True)
class Flag(Setting):
    """A flag of a cluster that is a set of words."""

    kind: ClassVar[str] = "flag"
    flags: ClassVar[set[str]] = set()
    broken: ClassVar[set[str]] = set()

    def held(self, cluster):
        return self.target in self.flags

    def set(self, cluster):
        if self.target in self.broken:
            raise AvadmError(finding("ceph-command", found="no", words="osd set"))
        # Recorded before it is set, or a kill would leave what nothing knows.
        assert any(r.target == self.target for r in cluster.state.settings())
        self.flags.add(self.target)

    def unset(self, cluster):
        if self.target in self.broken:
            raise AvadmError(finding("ceph-command", found="no", words="osd unset"))
        self.flags.discard(self.target)


class Mild(Flag):
    """One that keeps no other command from its work."""

    kind: ClassVar[str] = "mild"
    blocks: ClassVar[bool] = False


@pytest.fixture(autouse=True)
def flags(monkeypatch):
    for kind in (Flag, Mild):
        monkeypatch.setitem(settings_module.KINDS, kind.kind, kind)
    Flag.flags.clear()
    Flag.broken.clear()
    return Flag.flags


@dataclass
class Bench:
    """One site whose operations are run without a lock."""

    cluster: Cluster
    lines: list[str] = field(default_factory=list)
    did: list[str] = field(default_factory=list)

    def step(self, name, **more):
        return Step(name, more.pop("act", lambda tell: self.did.append(name)), ("a",), **more)

    def run(self, *steps, **more):
        operation = Operation(
            "test", "avadm test", steps, frozenset(more.pop("components", ["ceph"])), **more
        )
        settings = Settings(self.cluster, self.lines.append)
        clock = Clock()
        return module._recorded(
            self.cluster, operation, settings, self.lines.append, module.Clock(clock, clock.sleep)
        )


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    site = sites.site(sites.node("a", 1, "mon"))
    site_file = SiteFile(tmp_path / "site.yml", site, profiles.load("lab-bookworm"))
    return Bench(Cluster(site_file, None, SiteState.of(site_file.path, "demo")))


def fails(tell):
    raise AvadmError(finding("ceph-command", found="no", words="osd out"))


def interrupted(tell):
    raise KeyboardInterrupt


def test_steps_run_in_order_and_leave_no_record(bench):
    folder = bench.run(bench.step("one"), bench.step("two"))
    assert bench.did == ["one", "two"]
    assert bench.cluster.state.begun() == []
    assert folder.read_json("summary.json")["result"] == "good"


def test_the_same_command_continues_and_repeats_nothing_that_the_cluster_proves(bench):
    done = set()
    first = bench.step("one", act=lambda tell: done.add("one"), done=lambda: "one" in done)
    with pytest.raises(AvadmError):
        bench.run(first, bench.step("two", act=fails))
    [record] = bench.cluster.state.begun()
    assert record.steps == ("one",)
    bench.run(first, bench.step("two"))
    assert bench.did == ["two"]
    assert "[1/2] one: done already" in bench.lines
    assert bench.cluster.state.begun() == []


def test_a_half_done_operation_blocks_its_component_alone(bench):
    with pytest.raises(AvadmError):
        bench.run(bench.step("one", act=fails))
    state = bench.cluster.state
    [found] = half_done(state, {"ceph", "etcd"})
    assert "avadm test" in found.remedy
    assert half_done(state, {"etcd"}) == []
    assert half_done(state, {"ceph"}, "avadm test") == []


def test_it_is_still_half_done_for_another_controller(bench, tmp_path):
    with pytest.raises(AvadmError):
        bench.run(bench.step("one", act=fails, settings=(Flag("x"),)))
    state = SiteState(tmp_path / "other.json", "demo")
    state.replace(bench.cluster.state.as_dict())
    assert [one.command for one in state.begun()] == ["avadm test"]


@pytest.mark.parametrize("act", [fails, interrupted])
def test_settings_are_undone_at_every_end(bench, flags, act):
    with pytest.raises((AvadmError, KeyboardInterrupt)):
        bench.run(bench.step("one", act=act, settings=(Flag("x"),)))
    assert flags == set()
    assert bench.cluster.state.settings() == []


def test_a_setting_is_held_through_the_steps_that_need_it_and_no_longer(bench, flags):
    seen = []
    look = lambda tell: seen.append(set(flags))  # noqa: E731
    x, y = Flag("x"), Flag("y")
    bench.run(
        bench.step("one", act=look, settings=(x,)),
        bench.step("two", act=look, settings=(x, y)),
        bench.step("three", act=look, settings=(y,)),
        bench.step("four", act=look),
    )
    assert seen == [{"x"}, {"x", "y"}, {"y"}, set()]


def test_what_blocks_nothing_is_undone_at_the_end_where_it_cannot_be_before(bench, flags):
    bench.run(
        bench.step("one", act=lambda tell: Flag.broken.add("x"), settings=(Mild("x"),)),
        bench.step("two", act=lambda tell: Flag.broken.clear()),
    )
    assert flags == set()
    assert bench.cluster.state.settings() == []


def test_what_blocks_others_ends_the_operation_where_it_cannot_be_undone(bench, flags):
    acted = []
    with pytest.raises(AvadmError):
        bench.run(
            bench.step("one", act=lambda tell: Flag.broken.add("x"), settings=(Flag("x"),)),
            bench.step("two", act=acted.append),
        )
    assert acted == []


def test_what_somebody_else_had_set_stays(bench, flags):
    flags.add("x")
    bench.run(bench.step("one", settings=(Flag("x"),)))
    assert flags == {"x"}
    assert bench.cluster.state.settings() == []


def test_what_a_killed_command_left_is_undone_by_the_next(bench, flags):
    state = bench.cluster.state
    state.keep_setting(SettingRecord("flag", "x", "operation avadm other", 0.0))
    state.keep_setting(SettingRecord("flag", "y", "operation avadm other", 0.0, before=True))
    state.keep_setting(SettingRecord("flag", "z", "maintenance m", 0.0))
    flags |= {"x", "y", "z"}
    assert Settings(bench.cluster, bench.lines.append).recover() == []
    assert flags == {"y", "z"}
    assert [r.target for r in state.settings()] == ["z"]


def test_a_setting_that_two_owners_need_is_undone_by_the_last(bench, flags):
    settings = Settings(bench.cluster, bench.lines.append)
    settings.hold([Flag("x")], "maintenance m")
    settings.hold([Flag("x")], "operation o")
    of = lambda owner: [r for r in bench.cluster.state.settings() if r.owner == owner]  # noqa: E731
    assert settings.release(of("maintenance m")) == []
    assert flags == {"x"}
    assert settings.release(of("operation o")) == []
    assert flags == set()


def test_what_cannot_be_undone_is_reported_and_stays_on_record(bench, flags):
    settings = Settings(bench.cluster, bench.lines.append)
    settings.hold([Flag("x")], "operation o")
    Flag.broken.add("x")
    [left] = settings.release(bench.cluster.state.settings())
    assert (left.check, left.where) == ("setting-left", "operation o")
    assert [r.target for r in bench.cluster.state.settings()] == ["x"]


def test_a_setting_of_a_newer_release_is_no_error_that_stops_the_others(bench, flags):
    state = bench.cluster.state
    state.keep_setting(SettingRecord("of-next-year", "q", "operation o", 0.0))
    state.keep_setting(SettingRecord("flag", "x", "operation o", 0.0))
    flags.add("x")
    assert [f.check for f in Settings(bench.cluster, bench.lines.append).recover()] == ["setting-left"]
    assert flags == set()


def test_settings_that_are_kept_are_handed_over_when_all_went_well(bench, flags):
    bench.run(
        bench.step("one", settings=(Flag("x"),)),
        bench.step("two"),
        keeps="maintenance m",
        notes={"m": {"a": 1}},
    )
    assert flags == {"x"}
    assert [r.owner for r in bench.cluster.state.settings()] == ["maintenance m"]
    assert bench.cluster.state.notes() == {"m": {"a": 1}}


def test_a_kill_while_settings_are_handed_over_leaves_none_that_nothing_undoes(bench, flags):
    state = bench.cluster.state
    state.keep_setting(SettingRecord("flag", "x", "maintenance m", 0.0))
    state.keep_setting(SettingRecord("flag", "y", "maintenance m", 0.0, before=True))
    flags |= {"x", "y"}
    bench.run(bench.step("one", settings=(Flag("x"), Flag("y"))), keeps="maintenance m")
    settings = Settings(bench.cluster, bench.lines.append)
    assert settings.release(state.settings()) == []
    assert flags == {"y"}


def test_what_may_wait_to_be_undone_keeps_no_command_from_beginning(bench, flags, monkeypatch):
    state = bench.cluster.state
    state.keep_setting(SettingRecord("flag", "x", "operation avadm other", 0.0))
    flags.add("x")
    Flag.broken.add("x")
    settings = Settings(bench.cluster, bench.lines.append)
    assert [f.check for f in settings.recover()] == ["setting-left"]
    monkeypatch.setattr(Flag, "blocks", False)
    assert settings.recover() == []
    assert [r.target for r in state.settings()] == ["x"]
    assert any("Not undone" in line for line in bench.lines)


def test_a_gate_without_progress_ends_with_what_holds_it(bench):
    looks = iter([Progress("5 left", 5), Progress("4 left", 4)] + [Progress("3 left", 3)] * 1000)
    gate = Gate("none is left", lambda: next(looks), patience=60, every=10)
    with pytest.raises(AvadmError) as error:
        bench.run(bench.step("one", gate=gate), bench.step("two"))
    [found] = error.value.findings
    assert (found.check, found.found, found.wanted) == ("gate-closed", "3 left", "none is left")
    assert error.value.exit_code == 1
    assert bench.did == ["one"]


@pytest.mark.parametrize("where", ["act", "gate"])
def test_a_failed_step_is_taken_back_and_the_operation_stays_half_done(bench, where):
    gate = Gate("none is left", lambda: Progress("1 left", 1), patience=20, every=10)
    more = {"act": fails} if where == "act" else {"gate": gate}
    with pytest.raises(AvadmError) as error:
        bench.run(bench.step("one", undo=lambda tell: bench.did.append("undone"), **more), bench.step("two"))
    assert bench.did[-1] == "undone"
    assert [f.check for f in error.value.findings] == ["ceph-command" if where == "act" else "gate-closed"]
    [record] = bench.cluster.state.begun()
    assert record.steps == ()


def test_a_stopped_step_is_not_taken_back_and_both_failures_are_reported(bench):
    with pytest.raises(KeyboardInterrupt):
        bench.run(bench.step("one", act=interrupted, undo=lambda tell: bench.did.append("undone")))
    assert bench.did == []
    with pytest.raises(AvadmError) as error:
        bench.run(bench.step("one", act=fails, undo=fails))
    assert len(error.value.findings) == 2


def test_a_gate_that_goes_on_slowly_is_waited_for(bench):
    looks = iter([Progress(f"{n} left", n) for n in range(100, 0, -1)] + [Progress()])
    bench.run(bench.step("one", gate=Gate("none is left", lambda: next(looks), patience=15, every=10)))
    assert bench.cluster.state.begun() == []


def test_a_cluster_that_does_not_answer_for_a_moment_does_not_end_a_gate(bench):
    answers = iter(
        [AvadmError(finding("ceph-command", found="no", words="-s")), Progress("1 left", 1), Progress()]
    )

    def look():
        answer = next(answers)
        if isinstance(answer, AvadmError):
            raise answer
        return answer

    bench.run(bench.step("one", gate=Gate("none is left", look, patience=15, every=10)))
    assert bench.did == ["one"]


def test_a_refusal_is_accepted_by_its_id_and_only_where_that_may_be():
    both = [
        finding("ceph-command", found="no", words="a"),
        finding("kubernetes-command", found="no", words="b"),
    ]
    operation = Operation("test", "avadm test", (), refusals=both, acceptable=frozenset({"ceph-command"}))
    assert [f.check for f in module.refused(operation, ["ceph-command"])] == ["kubernetes-command"]
    assert "--accept ceph-command" in module.refused(operation, [])[0].remedy
    assert "--accept" not in module.refused(operation, [])[1].remedy
    with pytest.raises(AvadmError) as error:
        module.refused(operation, ["kubernetes-command"])
    assert error.value.findings[0].check == "accept-unknown"


def test_a_state_of_an_older_release_has_no_operations(tmp_path):
    path = Path(tmp_path / "ledger.json")
    path.write_text('{"version": 1, "serial": 3, "site": "t", "phases": {}}')
    assert (SiteState(path, "t").begun(), SiteState(path, "t").settings()) == ([], [])


def test_a_site_on_which_nothing_was_left_is_not_copied_to_its_nodes(bench):
    pushed = []
    replica = SimpleNamespace(push=lambda: pushed.append(1))
    cluster = replace(bench.cluster, replica=replica)
    assert Settings(cluster, bench.lines.append).recover() == []
    assert pushed == []
    cluster.state.keep_setting(SettingRecord("flag", "x", "operation avadm other", 0.0))
    Settings(cluster, bench.lines.append).recover()
    assert pushed == [1]


@pytest.mark.parametrize(
    ("resumes", "says"), [("avadm cache masters n1", "cache masters n1"), ("", "operation")]
)
def test_the_lock_of_an_operation_says_its_command(bench, monkeypatch, resumes, says):
    seen = []

    def lock(site_file, fleet, verb, tell, **_):
        seen.append(verb)
        raise AvadmError(finding("ceph-command", found="locked", words="lock"))

    monkeypatch.setattr(module, "lock_session", lock)
    with pytest.raises(AvadmError):
        module.run(bench.cluster.site_file, None, pytest.fail, (), bench.lines.append, resumes=resumes)
    assert seen == [says]
