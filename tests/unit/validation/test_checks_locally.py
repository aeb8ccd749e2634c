"""The cephfs checks run whole on this machine's own file system: three "clients" are three names for it.

The numbers mean nothing here; that the tools, the raw files, the extraction and the judgement fit together does, and
that a planted fault comes out as FAIL.
"""

import json
import re
import time
from pathlib import Path

import pytest
from acceptance_fakes import Result

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.judge import judged
from avadm_validation.suites.storage.checks import fs1, fs2, fs3, fs4, fs5
from avadm_validation.suites.storage.measure import remove_aside
from avadm_validation.suites.storage.tools import tool_sources
from tests.unit.fakes.fleet import LocalFleet

pytestmark = pytest.mark.slow

CLIENTS = ("c1", "c2", "c3")
MDS = {
    "ceph fs dump": '{"filesystems": [{"mdsmap": {"info": {"a": {"rank": 0, "state": "up:active", "name": "m"}}}}]}',
    "dirfrag ls": '[{"value": 0}, {"value": 1}]',
    "dirfrag split": "{}",
}
PARAMS = {
    "lead_s": 0.2, "gap_s": 0.02, "timeout_s": 60, "repetitions": 2, "warmup_s": 0.0, "duration_s": 0.1, "read_s": 0.02,
    "fill_s": 0.2, "procs": 2, "size": 1000, "max_files": 2000, "fio_s": 0, "coherence_files": 4,
    "files": 60, "alone": 30, "split": "forced", "stats": 5,
}  # fmt: skip


class Clients(LocalFleet):
    """Runs every node's commands here; ceph's own are answered from a table. ``after`` acts after a command."""

    def __init__(self, after=lambda command: None, answers=None):
        super().__init__()
        self.after = after
        self.answers = {**MDS, **(answers or {})}

    def run(self, node, command, *, timeout=60.0, stdin=None):
        for part, answer in self.answers.items():
            if part in command:
                out = answer() if callable(answer) else answer
                return Result(node, command, stdout=out, started=time.time())
        done = super().run(node, command, timeout=timeout)
        self.after(command)
        return done


@pytest.fixture
def context(tmp_path, monkeypatch):
    """Return a function that makes a check's context; the tools lie where the context says."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, content in tool_sources().items():
        (tools / name).write_bytes(content)
    monkeypatch.setattr(Context, "tools", property(lambda self: str(tools)))
    (tmp_path / "mnt").mkdir()
    target = Target("s", "p", "lab", CLIENTS, "m", ("m",), mds=("m",), mount=str(tmp_path / "mnt"))

    def make(check, fleet=None, **changes):
        rec = Recorder(fleet or Clients(), tmp_path / "report", check.ID)
        return Context(target, rec, {**PARAMS, **changes}, "r1", 7, "lab")

    return make


def metrics(check, ctx):
    """Return the check's metrics by name, judged by criteria that every speed passes."""
    easy = [
        c.model_copy(update={"repetitions": 1})
        for c in Criteria.load("lab").judging.values()
        if c.rule == "each"
    ]
    found = judged(check.ID, check.run(ctx).metrics, Criteria(easy, []))
    return {m.name: m for m in found}


@pytest.mark.parametrize("check", [fs1, fs2, fs5], ids=lambda c: c.ID)
def test_a_check_measures_and_cleans_up(check, context):
    ctx = context(check)
    found = metrics(check, ctx)
    # A window of 20 ms may hold nothing on a busy machine: NaN then, and never a number below 0.
    assert not any(s.value < 0 for m in found.values() for s in m.samples)
    assert found.get("errors", found.get("coherence")).verdict == "PASS"
    assert not [p for p in Path(ctx.work).rglob("*") if p.is_file() and ".gone-" not in str(p)]
    remove_aside(ctx)
    assert not [p for p in Path(ctx.work).parent.rglob("*") if p.is_file()]
    assert all(c.rc == 0 for c in ctx.rec.commands)


def test_one_directory_is_counted_and_emptied(context):
    ctx = context(fs4)
    found = metrics(fs4, ctx)
    assert {n: found[n].mean for n in ("made", "missing", "errors", "fragments")} == {
        "made": 60, "missing": 0, "errors": 0, "fragments": 2,
    }  # fmt: skip
    assert not Path(ctx.work).exists()
    removed = [c.command for c in ctx.rec.commands if "xargs" in c.command]
    assert len(removed) == 4  # one after another: never two clients at once in one directory


def test_a_removed_file_is_missing(context):
    def remove(command):
        if "--client c2 " in command + " " and " create " in command:
            found = re.search(r"--dir (\S+)", command).group(1)
            Path(f"{found}/r0/c2.0.0000000").unlink(missing_ok=True)

    found = metrics(fs4, context(fs4, Clients(remove)))
    assert (found["missing"].mean, found["missing"].verdict) == (1, "FAIL")


def test_changed_content_is_incoherent(context):
    def spoil(command):
        # Only once c1 itself is done: beside it its file may still be empty, and two flips undo each other.
        if "coherence" in command and " create " in command and command.endswith("--client c1"):
            folder = re.search(r"--dir (\S+)", command).group(1)
            for path in Path(folder).glob("c1/r0.p0/0000000"):
                data = bytearray(path.read_bytes())
                data[500] ^= 1
                path.write_bytes(data)

    found = metrics(fs5, context(fs5, Clients(spoil)))
    assert found["coherence"].verdict == "FAIL"


def test_no_two_clients_make_entries_in_one_directory(context, tmp_path):
    seen = set()

    def look(command):
        if " create " in command and "fsync" not in command:
            seen.update(p.parent for p in Path(tmp_path / "mnt").rglob("0*"))

    # Three interpreters must be up before the window ends, on a busy machine too.
    metrics(fs1, context(fs1, Clients(look), lead_s=2.0, fill_s=3.0, max_files=50))
    assert seen and all(p.parent.name in CLIENTS for p in seen)


def growing(monkeypatch, tmp_path, size, strays=lambda: 0):
    """Return a fleet whose MDS holds ``size(files)`` bytes."""
    monkeypatch.setattr(fs3, "PAUSE_S", 0)

    def caches():
        files = sum(p.is_file() for p in (tmp_path / "mnt").rglob("0*"))
        return json.dumps({"pool": {"bytes": size(files)}})

    return Clients(
        answers={
            "cache status": caches,
            "perf dump": lambda: json.dumps({"mds_cache": {"num_strays": strays()}}),
            "ceph df": "{}",
        }
    )


SERIES = {"series": [60, 180, 540, 1620], "procs": 1, "settle_s": 0, "size": 1}


def test_a_series_that_grows_evenly_holds_out(context, monkeypatch, tmp_path):
    fleet = growing(monkeypatch, tmp_path, lambda files: 5000 + 2000 * files)
    found = metrics(fs3, context(fs3, fleet, **SERIES))
    assert found["held-out"].verdict == "PASS"
    assert (found["reached"].mean, found["mds-bytes-per-file"].mean) == (1620, 2000)


def test_a_series_that_bends_is_not_held_out(context, monkeypatch, tmp_path):
    fleet = growing(monkeypatch, tmp_path, lambda files: 5000 + 2000 * files + (4e7 if files > 1000 else 0))
    assert metrics(fs3, context(fs3, fleet, **SERIES))["held-out"].verdict == "FAIL"


def test_what_earlier_checks_removed_is_let_go_before_the_series(context, monkeypatch, tmp_path):
    left = iter([3, 2, 1])
    strays = {"now": 3}

    def purge():
        strays["now"] = next(left, 0)
        return strays["now"]

    fleet = growing(monkeypatch, tmp_path, lambda files: 5000 + 2000 * files + 1000000 * strays["now"], purge)
    found = metrics(fs3, context(fs3, fleet, **SERIES))
    assert (found["held-out"].verdict, found["mds-bytes-per-file"].mean) == ("PASS", 2000)
