"""The suite's runner: preconditions block, faults become verdicts, everything is put back."""

import json
import math

import pytest
from acceptance_fakes import NOW, FakeFleet, execute, sealed

from avadm_validation import data
from avadm_validation.measuring.context import MeasureError, Outcome
from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.load import Machine
from avadm_validation.protocol.model import Criterion, Metric, Report, Sample, Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.storage import run

OK = {
    "health": {"status": "HEALTH_OK"},
    "osdmap": {"num_osds": 3, "num_up_osds": 3, "num_in_osds": 3},
    "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 9}]},
}
VERSION = "ceph version 16.2.15 (abc) pacific (stable)"
FACTS = {"version": VERSION, "fio": "fio-3.33", "bindings": True, "mount": "fuse.ceph-fuse"}


def answers(**changes):
    return {
        "config-key get": changes.get("noted", ""),
        "ceph status": json.dumps({**OK, **changes.get("status", {})}),
        "ceph versions": json.dumps({"overall": {VERSION: 9}}),
        "ceph df": json.dumps({"pools": [{"name": "rbd", "stats": {"max_avail": 10**12}}]}),
        "import json, subprocess": json.dumps({**FACTS, **changes.get("facts", {})}),
        "date +": f"{NOW:.9f}",
        "echo made": "made",
        "osd dump": json.dumps({"flags": changes.get("flags", "sortbitwise")}),
        "iperf3": {"rc": 1},
    }


def suite(tmp_path, fleet, **changes):
    target = Target(
        site="s", profile="p", kind="lab", clients=("c1", "c2"), mon="m", nodes=("m", "c1", "c2"), **changes
    )
    return Runner(target, fleet, tmp_path, Criteria.load("lab"), "quick", "run1")


class FakeCheck:
    ID = "A-BD6"
    TITLE = ("t", "t")
    NEEDS = "rbd"

    def __init__(self, act):
        self.run = act


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda s: None)


def with_check(monkeypatch, act):
    monkeypatch.setattr(run, "CHECKS", (FakeCheck(act),))


def measured(ctx):
    """Measure all that A-BD6 is judged by, from a raw file."""
    path = ctx.rec.save("x.out", '{"v": "yes"}')
    sample = ctx.sample("equals", {"doc": [path]}, path="v", value="yes")
    names = ("held", "lock-refused", "write-refused", "kept", "handed-over")
    return Outcome(
        "m", [Metric(name=n, title=n, unit="bool", scope="client", samples=[sample]) for n in names]
    )


def test_good(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    first, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert (first.verdict, check.verdict) == (Verdict.PASS, Verdict.PASS), first.reasons
    assert check.measured == 1 and not check.stated.judged


@pytest.mark.parametrize(
    "changes",
    [
        {"status": {"health": {"status": "HEALTH_WARN"}}},
        {"status": {"pgmap": {"pgs_by_state": [{"state_name": "active+recovering", "count": 1}]}}},
        {"status": {"osdmap": {"num_osds": 3, "num_up_osds": 2, "num_in_osds": 3}}},
        {"facts": {"version": "ceph version 14.2.21 (old) nautilus (stable)"}},
        {"facts": {"mount": ""}},
        {"facts": {"fio": ""}},
    ],
    ids=["health", "recovery", "osd", "version", "mount", "tool"],
)
def test_an_unmet_precondition_blocks_and_never_passes(tmp_path, monkeypatch, changes):
    ran = []
    with_check(monkeypatch, lambda ctx: ran.append(1))
    monkeypatch.setattr(
        Runner, "efforts", lambda self, package: {c: {**p, "settle_s": 0} for c, p in EFFORTS.items()}
    )
    first, check = execute(run, suite(tmp_path, FakeFleet(answers(**changes))))
    assert (first.verdict, check.verdict) == (Verdict.BLOCKED, Verdict.BLOCKED)
    assert not ran and first.remedy


EFFORTS = data.efforts("avadm_validation.suites.storage", "lab", "quick")


def no_value(ctx):
    return Outcome("m", measured(ctx).metrics[:-1])


def unreachable(ctx):
    raise MeasureError("c1: gone")


def broken(ctx):
    return 1 / 0


def void(ctx):
    outcome = measured(ctx)
    sample = outcome.metrics[0].samples[0].model_copy(update={"value": math.nan, "extract": "number"})
    first = outcome.metrics[0].model_copy(update={"samples": [sample]})
    return Outcome("m", [first, *outcome.metrics[1:]])


@pytest.mark.parametrize("act", [no_value, broken])
def test_a_check_that_does_not_do_what_it_should_fails(tmp_path, monkeypatch, act):
    with_check(monkeypatch, act)
    _, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert check.verdict is Verdict.FAIL and check.reasons


@pytest.mark.parametrize("act", [unreachable, void])
def test_what_could_not_be_measured_is_inconclusive_after_a_second_try(tmp_path, monkeypatch, act):
    tries = []

    def counted(ctx):
        tries.append(1)
        return act(ctx)

    with_check(monkeypatch, counted)
    _, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert (check.verdict, len(tries)) == (Verdict.INCONCLUSIVE, 2)
    assert "could not be measured" in check.reasons[0]
    assert any("measured again, because" in r for r in check.reasons)


def test_what_can_be_measured_at_the_second_try_passes(tmp_path, monkeypatch):
    tries = []

    def once(ctx):
        tries.append(1)
        return measured(ctx) if len(tries) > 1 else unreachable(ctx)

    with_check(monkeypatch, once)
    _, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert check.verdict is Verdict.PASS
    assert any("c1: gone" in r for r in check.reasons)  # why it was measured again


def test_nothing_is_repeated_when_the_time_of_the_run_is_over(tmp_path, monkeypatch):
    tries = []

    def counted(ctx):
        tries.append(1)
        return unreachable(ctx)

    with_check(monkeypatch, counted)
    made = suite(tmp_path, FakeFleet(answers()))
    made.begun -= 10_000
    execute(run, made)
    assert tries == [1]


class Busy:
    """A watch of a machine that is some times slower than an idle one."""

    def __init__(self, slowdown):
        self.slowdown = slowdown

    def since(self, began):
        load = {
            "slowdown": self.slowdown,
            "peak": self.slowdown,
            "running": 9,
            "cpu": 1,
            "io": 0,
            "memory": 0,
        }
        return Machine(began=began, ended=began + 1, **load)

    def patience(self):
        return 1.0


@pytest.mark.parametrize(("slowdown", "wanted"), [(1.0, Verdict.FAIL), (4.0, Verdict.INCONCLUSIVE)])
def test_a_busy_machine_explains_a_late_answer_and_is_named(tmp_path, monkeypatch, slowdown, wanted):
    def late(ctx):
        path = ctx.rec.save("x.out", '{"s": 2.5}')
        sample = ctx.sample("number", {"doc": [path]}, path="s")
        return Outcome("m", [Metric(name="took", title="took", unit="s", scope="client", samples=[sample])])

    with_check(monkeypatch, late)
    made = suite(tmp_path, FakeFleet(answers()))
    bound = Criterion(
        id="A-BD6.took", check="A-BD6", metric="took", unit="s", op="<=", threshold=1, rule="each",
        scope="client", method="m", class_="lab",
    )  # fmt: skip
    made.criteria.judging = {k: c for k, c in made.criteria.judging.items() if c.check != "A-BD6"}
    made.criteria.add([bound])
    made.machine = Busy(slowdown)
    check = execute(run, made)[1]
    assert check.verdict is wanted, check.reasons
    assert any("4.0 times slower" in r for r in check.reasons) == (slowdown > 1)


@pytest.mark.parametrize("second", [Verdict.PASS, Verdict.INCONCLUSIVE])
def test_an_inconclusive_check_is_measured_again_once_and_longer(tmp_path, monkeypatch, second):
    seen = []

    def unsure_at_first(ctx):
        seen.append((ctx.params["duration_s"], ctx.params["max_files"]))
        outcome = measured(ctx)
        outcome.verdict = second if len(seen) > 1 else Verdict.INCONCLUSIVE
        return outcome

    with_check(monkeypatch, unsure_at_first)
    own = {"again": 3, "duration_s": 0.5, "max_files": 60}
    monkeypatch.setattr(Runner, "efforts", lambda self, package: {**EFFORTS, "A-BD6": own})
    _, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert seen == [(0.5, 60), (1.5, 180)]
    assert check.verdict is second
    assert any("measured again with windows 3 times as long" in r for r in check.reasons)


def test_what_others_would_disturb_is_measured_first_and_reported_in_its_place(tmp_path, monkeypatch):
    began = []

    def act(ctx):
        began.append(ctx.rec.check)
        return measured(ctx)

    usual, quiet = FakeCheck(act), FakeCheck(act)
    usual.ID, quiet.ID = "A-BD5", "A-BD6"
    monkeypatch.setattr(run, "CHECKS", (usual, quiet))
    monkeypatch.setattr(run, "MEASURED_FIRST", (quiet,))
    monkeypatch.setitem(EFFORTS, "A-BD5", EFFORTS["A-BD6"])
    ran = suite(tmp_path, FakeFleet(answers()))
    results = execute(run, ran)
    assert began == ["A-BD6", "A-BD5"]
    assert [r.id for r in results] == ["preconditions", "A-BD5", "A-BD6"]
    report = problems(written(ran, results, tmp_path), tmp_path)
    assert [p for p in report if "the checks are" in p] == []


def test_a_failed_check_is_not_measured_again(tmp_path, monkeypatch):
    ran = []

    def wrong(ctx):
        ran.append(1)
        return no_value(ctx)

    with_check(monkeypatch, wrong)
    _, check = execute(run, suite(tmp_path, FakeFleet(answers())))
    assert (check.verdict, ran) == (Verdict.FAIL, [1])


def test_a_site_without_the_service_is_not_run(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    _, check = execute(run, suite(tmp_path, FakeFleet(answers()), pool=None))
    assert check.verdict is Verdict.NOT_RUN


def test_flags_are_noted_before_they_are_set(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers(flags="noscrub,sortbitwise"))
    execute(run, suite(tmp_path, fleet))
    (line,) = fleet.commands("osd set")
    assert line.index("config-key set") < line.index("osd set nodeep-scrub")
    assert "osd set noscrub" not in line  # the site's own stays the site's


def test_what_a_killed_run_left_is_restored(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers(noted='{"run": "old", "flags": ["noscrub", "nodeep-scrub", "pause; reboot"]}'))
    execute(run, suite(tmp_path, fleet))
    line = fleet.commands("osd unset")[0]
    assert "osd unset noscrub && ceph osd unset nodeep-scrub && ceph config-key rm" in line
    assert "reboot" not in line


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_everything_is_put_back_after_an_interruption_too(tmp_path, monkeypatch, error):
    def stop(ctx):
        raise error

    with_check(monkeypatch, stop)
    fleet = FakeFleet(answers())
    try:
        execute(run, suite(tmp_path, fleet))
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    assert "rm -rf --one-file-system /tmp/avadm-accept-run1*" in fleet.commands("pids()")[-1]
    assert "rm -rf /mnt/cephfs/avadm-accept-run1*" in fleet.commands("mountpoint -q")[-1]


def report_of(tmp_path, monkeypatch, act=measured):
    with_check(monkeypatch, act)
    ran = suite(tmp_path, FakeFleet(answers()))
    return written(ran, execute(run, ran), tmp_path)


def written(ran, checks, folder):
    """Return a run's report; it lies in the folder."""
    report = sealed(ran, checks, folder)
    report.dump(folder)
    return report


def problems(report, folder):
    criteria = Criteria.load("lab")
    return verify(report, folder, compute, facts, criteria)


def test_a_report_verifies_also_when_loaded_again(tmp_path, monkeypatch):
    report = report_of(tmp_path, monkeypatch)
    assert problems(Report.load(tmp_path), tmp_path) == []
    assert Report.load(tmp_path) == report


def edited(report, act):
    data = json.loads(report.model_dump_json(by_alias=True))
    act(data["checks"][1], data)
    return Report.model_validate(data)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c, d: c.update(verdict="FAIL"), "the verdict is FAIL in the report, PASS when computed"),
        (lambda c, d: c["metrics"][0]["samples"][0].update(value=0), "sample 1 is 0.0 in the report, 1.0"),
        (lambda c, d: c["metrics"][0].update(mean=7), "mean is 7.0"),
        (lambda c, d: c.update(measured=7), "measured is 7.0"),
        (lambda c, d: c["metrics"][0]["criterion"].update(threshold=0), "differs from this avadm's criteria"),
        (lambda c, d: c["metrics"].pop(0), "was not judged"),
        (lambda c, d: d["evidence"].popitem(), "is not named in the report"),
        (lambda c, d: c["metrics"][0]["samples"][0].update(extract="eval"), "unknown function 'eval'"),
        (lambda c, d: d["evidence"].update({"../../etc/passwd": "0"}), "outside the report's folder"),
        (lambda c, d: d["checks"].pop(1), "A-BD6: was run, but is not in the report"),
        (lambda c, d: c.update(verdict="NOT RUN"), "the verdict is NOT RUN in the report, PASS when computed"),
        (lambda c, d: c.update(verdict="INCONCLUSIVE"), "the verdict is INCONCLUSIVE in the report"),
        (lambda c, d: c["metrics"][0]["samples"].append(c["metrics"][0]["samples"][0]), "is there twice"),
        (lambda c, d: c["metrics"][0]["samples"][0].update(seconds=300), "seconds is 300.0 in the report, 0.0"),
        (lambda c, d: c["metrics"][0]["samples"][0]["params"].update(files=2e8), "files is 200000000.0"),
        (lambda c, d: c.update(method="better"), "A-BD6: differs from what the run noted"),
        (lambda c, d: c["reasons"].clear(), "A-BD6: differs from what the run noted"),
        (lambda c, d: c["stated"].update(judged=True), "A-BD6: differs from what the run noted"),
        (lambda c, d: d.update(effort="quick"), "the report's head"),
        (lambda c, d: d["notes"].append("all is well"), "the report's head"),
        (lambda c, d: d.update(config_hash="0"), "config_hash is not that of this avadm's criteria"),
    ],
    ids=["verdict", "sample", "mean", "measured", "criterion", "metric", "evidence", "function", "path", "deleted",
         "not-run", "inconclusive", "copied", "seconds", "files", "method", "reasons", "stated", "effort", "notes",
         "config"],
)  # fmt: skip
def test_an_edit_of_the_report_is_found(tmp_path, monkeypatch, act, message):
    report = edited(report_of(tmp_path, monkeypatch), act)
    assert any(message in p for p in problems(report, tmp_path)), problems(report, tmp_path)


def test_an_edit_of_a_raw_file_is_found(tmp_path, monkeypatch):
    report = report_of(tmp_path, monkeypatch)
    path = tmp_path / "raw" / "A-BD6" / "x.out"
    path.write_text('{"v": "no"}')
    found = problems(report, tmp_path)
    assert any("sha256" in p for p in found) and any("0.0 by its raw files" in p for p in found)


@pytest.mark.parametrize(
    ("act", "verdict"),
    [
        (no_value, Verdict.FAIL),
        (broken, Verdict.FAIL),
        (unreachable, Verdict.INCONCLUSIVE),
    ],
)
def test_an_honest_failure_verifies(tmp_path, monkeypatch, act, verdict):
    report = report_of(tmp_path, monkeypatch, act)
    assert report.checks[1].verdict is verdict
    assert problems(Report.load(tmp_path), tmp_path) == []


def test_a_blocked_run_verifies_and_its_checks_cannot_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Runner, "efforts", lambda self, package: {c: {**p, "settle_s": 0} for c, p in EFFORTS.items()}
    )
    monkeypatch.setitem(OK, "health", {"status": "HEALTH_WARN"})
    report = report_of(tmp_path, monkeypatch)
    assert problems(report, tmp_path) == []
    found = problems(edited(report, lambda c, d: c.update(verdict="PASS")), tmp_path)
    assert any("A-BD6: the verdict is PASS in the report, BLOCKED when computed" in p for p in found)


def test_a_raw_file_that_is_gone_is_found(tmp_path, monkeypatch):
    report = report_of(tmp_path, monkeypatch)
    (tmp_path / "raw" / "A-BD6" / "x.out").unlink()
    assert any("is missing" in p for p in problems(report, tmp_path))
    assert Sample(value=1, extract="x").value == 1
