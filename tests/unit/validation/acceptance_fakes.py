"""A fleet without nodes: commands are answered from a table, and kept."""

from dataclasses import dataclass

from avadm_validation.measuring.runner import Runner
from avadm_validation.measuring.schedule import make
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Report, Verdict

NOW = 1_795_000_000.0  # the clock of all fake nodes stands still: no pause of this machine becomes a skew


@dataclass(frozen=True)
class Result:
    node: str
    command: str
    rc: int = 0
    stdout: str = ""
    stderr: str = ""
    started: float = 0.0
    seconds: float = 0.1
    error: str | None = None


class FakeFleet:
    """Answers by the first (part of a command → text or Result fields) that fits; else success without output."""

    def __init__(self, answers=()):
        self.answers = dict(answers)
        self.ran = []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.ran.append((node, command))
        started = NOW
        for part, answer in self.answers.items():
            if part in command:
                fields = answer(node, command) if callable(answer) else answer
                fields = {"stdout": fields} if isinstance(fields, str) else fields
                return Result(node, command, started=started, **fields)
        return Result(node, command, started=started)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout) for n, c in commands.items()}

    def put(self, node, content, path, *, mode=0o644):
        self.ran.append((node, f"put {path}"))
        return Result(node, f"put {path}")

    def commands(self, part):
        return [c for _, c in self.ran if part in c]


def sealed(made, checks, folder, **changes):
    """Return the report of a suite's run with these checks, as it is written."""
    empty = {"versions": {}, "git_commit": "", "inventory_hash": "", "environment": {}, "notes": []}
    about = {"site": "s", "profile": "p", "class_": "lab", "seed": 1, "started": "", "finished": ""}
    digest = made.criteria.digest()
    return made.manifest.seal(Report(**empty, **about, config_hash=digest, checks=checks, **changes), folder)


def execute(suite, runner, only=()):
    """Make the checks of a suite, given by its module ``run``, or those that are named; return their results."""
    return make(runner, [(suite.session, only)])


def runner(fake, folder, effort="quick", criteria=None, **changes):
    """Return a run on what a fake stands for, with the lab's criteria, and the fake's fleet."""
    fleet = fake.fleet()
    made = Runner(fake.target(**changes), fleet, folder, criteria or Criteria.load("lab"), effort, "run1")
    made.warn = lambda text: None
    return made, fleet


def assert_seen(suite, made, fault, preconditions):
    """Run the check that a fault is planted for: it must report it, and failed preconditions must block all others."""
    first = fault.check == preconditions
    checks = {c.id: c for c in execute(suite, made, () if first else (fault.check,))}
    check = checks[fault.check]
    assert check.verdict == fault.verdict, check.reasons
    bad = Verdict.INCONCLUSIVE if fault.verdict == "INCONCLUSIVE" else Verdict.FAIL
    assert {m.name for m in check.metrics if m.verdict is bad} >= set(fault.metrics), check.reasons
    assert check.remedy
    if first:
        assert {c.verdict for i, c in checks.items() if i != fault.check} == {Verdict.BLOCKED}
