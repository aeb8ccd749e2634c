"""What a check works with: the target, its clients, evidence, and how to run the tools on many nodes."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.machine import patience
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.fleet import Result
from avadm_validation.protocol.model import Class, Metric, Sample, Series, Verdict

TOOLS = "nodes with tools"
"""Under which a run's checks note the nodes that got a folder of tools."""
NOTING = threading.Lock()
"""Held while something is noted for other checks of the run, which may be made at the same time."""


class MeasureError(Exception):
    """A measurement could not be made; the text says on which node and why."""


@dataclass(frozen=True)
class Progress:
    """Progress: what is being done, how many repetitions, how long it will take."""

    check: str
    text: str
    repetitions: int = 1
    seconds: float = 0.0


@dataclass
class Outcome:
    """What a check measured; judgement comes later."""

    method: str
    metrics: list[Metric] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    remedy: str = ""
    verdict: Verdict | None = None
    """Set where the check itself knows (BLOCKED, PROJECTED); combined as the worst."""
    projected: tuple[float, tuple[float, float]] | None = None
    """Projected value and its prediction interval, where the verdict came from one."""


@dataclass
class Context:
    """One check's view of the run.

    Attributes:
        target: what is measured.
        rec: evidence of this check.
        params: the check's effort (sizes, seconds, repetitions).
        run: id of the run, part of every name that is made.
        seed: seed of the run.
        class_: class of the numbers.
        progress: called with each step.
        clock_offset: nodes' clock minus ours, seconds.
        shared: what one check of a run leaves for the next (images that took long to fill).
    """

    target: Target
    rec: Recorder
    params: Mapping[str, Any]
    run: str
    seed: int
    class_: Class
    progress: Callable[[Progress], None] = lambda step: None
    clock_offset: float = 0.0
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of everything that the run makes on the site."""
        return f"avadm-accept-{self.run}"

    @property
    def tools(self) -> str:
        """Folder of the tools on client nodes."""
        return f"/tmp/{self.name}"  # noqa: S108 - the name is the run's own, made 0700

    def has_tools(self, *nodes: str) -> None:
        """Note that there is, or may be, a folder of tools on nodes: the run's end removes it."""
        with NOTING:
            self.shared.setdefault(TOOLS, set()).update(nodes)

    @property
    def private(self) -> str:
        """Command that makes the folder of tools, which root runs, or finds it root's own, no link, shut to others."""
        folder = shlex.quote(self.tools)
        return (
            f'mkdir -m 700 {folder} 2>/dev/null || [ "$(stat -c \'%u %a %F\' {folder})" = "$(id -u) 700 directory" ] || '
            f"{{ echo {folder} is not ours alone: remove it >&2; false; }}"
        )

    @property
    def work(self) -> str:
        """This check's folder on cephfs."""
        return f"{self.target.mount}/{self.name}/{self.rec.check}"

    def step(self, text: str, repetitions: int = 1, seconds: float = 0.0) -> None:
        """Tell what is being done."""
        self.progress(Progress(self.rec.check, text, repetitions, seconds))

    def tell(self, text: str) -> None:
        """Tell what is being put back; unlike ``step`` it never raises: somebody listening is not needed for it."""
        # SystemExit: what the command line raises where its output is gone (ctrl-C under `| tee`).
        with contextlib.suppress(Exception, SystemExit):
            self.step(text)

    def ceph(self, command: str, name: str, *, timeout: float = 60.0) -> Result:
        """Run a command of ceph's on the mon node; MeasureError where it fails."""
        return self.must(self.rec.run(self.target.mon, command, name, timeout=timeout))

    def must(self, result: Result) -> Result:
        """Return the result; MeasureError where the command failed."""
        if result.rc or result.error:
            why = result.error or (result.stderr.strip().splitlines() or [f"exit status {result.rc}"])[-1]
            raise MeasureError(f"{result.node}: {result.command.split()[0]}: {why}")
        return result

    def tool(self, script: str, *arguments: str | float, **options: str | float) -> str:
        """Return the command line of a tool on a node; ``try_s=3`` becomes ``--try-s 3``."""
        return self.tool_by(self.target.python, script, arguments, options)

    def tool_by(
        self, python: str, script: str, arguments: Sequence[object], options: Mapping[str, object]
    ) -> str:
        """Return the same with another interpreter."""
        line = [python, f"{self.tools}/{script}", *map(str, arguments)]
        for name, value in options.items():
            line += [f"--{name.replace('_', '-')}", str(value)]
        return f"{self.noted} exec {' '.join(map(shlex.quote, line))}"

    @property
    def noted(self) -> str:
        """Start of a command line that notes its shell's pid, so that the guard can end what a killed run left."""
        return f"echo $$ > {shlex.quote(self.tools)}/pid.$$;"

    def limit(self, seconds: object) -> float:
        """Return a limit of a wait, seconds, as long as the machine's present load makes it."""
        return float(str(seconds)) * patience()

    def gate(self) -> float:
        """Return a start on the nodes' clock that every client can make."""
        return time.time() + self.clock_offset + float(self.params.get("lead_s", 1.0))

    def everywhere(self, commands: Mapping[str, str], name: str, *, timeout: float) -> list[str]:
        """Run one command per client at once; return the paths of their outputs; MeasureError where one fails."""
        results = self.rec.map(commands, name, timeout=timeout)
        for node in commands:
            self.must(results[node])
        return [self.rec.last(node) for node in commands]

    def read(self, path: str) -> str:
        """Return the text of a raw file."""
        return (self.rec.folder / path).read_text(encoding="utf-8")

    def sample(
        self,
        extract: str,
        inputs: Mapping[str, list[str]],
        **params: float | str,
    ) -> Sample:
        """Make a sample: its numbers come from the raw files by the functions that ``verify`` will use again."""
        texts = {group: [self.read(p) for p in paths] for group, paths in inputs.items()}
        seconds, files = facts(extract, texts, params)
        if files is not None:
            params["files"] = files
        return Sample(
            value=compute(extract, texts, params),
            seconds=seconds,
            started=self.rec.commands[-1].started if self.rec.commands else 0.0,
            extract=extract,
            inputs=dict(inputs),
            params=params,
        )
