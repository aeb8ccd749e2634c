"""The steps of a recipe that put Python into an image: published packages, and a folder of the checkout."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from avadm import paths
from avadm.artifacts import recipe as r
from avadm.artifacts import wheels
from avadm.artifacts.commands import CompletedCommand
from avadm.artifacts.golang import no_program
from avadm.artifacts.manifest import Artifact, content, files_of
from avadm.errors import AvadmError

Run = Callable[[str, Sequence[str], Path, Mapping[str, str]], CompletedCommand]
Failed = Callable[[str, str, str], AvadmError]
_ENV = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""Sets are written in the order of their hashes: with a seed of its own each run would give other bytes."""


@dataclass(frozen=True, slots=True)
class PythonSteps:
    """Carries out steps of Python.

    Attributes:
        artifact: what is built.
        work: the folder to work in.
        tell: called with what is being done.
        run: runs a program, or raises AvadmError.
        failed: makes the error of a step: title, found, wanted.
    """

    artifact: Artifact
    work: Path
    tell: Callable[[str], None]
    run: Run
    failed: Failed

    def do(self, action: r.Wheels | r.Source | r.Pack) -> None:
        """Carry out a step.

        Raises:
            AvadmError: it failed.
        """
        if isinstance(action, r.Pack):
            self._pack(action)
            return
        program = wheels.python(action.python)
        if program is None:
            raise AvadmError(no_program(f"python{action.python}", ""))
        target = self.work / action.to
        if isinstance(action, r.Wheels):
            self._fetch(action, program, target)
        else:
            self._copy(action, target)
        self.run("compile Python", wheels.compiled(program, self.work / action.root), self.work, _ENV)

    def _fetch(self, w: r.Wheels, program: str, target: Path) -> None:
        listed = self.artifact.folder / w.list
        if other := wheels.differences(listed, paths.home() / w.project):
            wanted = f"each pin of {w.project}; `python -m avadm.artifacts.wheels {self.artifact.name}` writes it again"
            raise self.failed("compare the list of Python packages", "; ".join(other[:5]), wanted)
        self.run("fetch Python packages", wheels.install(program, w.python, listed, target), self.work, {})
        wheels.slim(target)

    def _pack(self, p: r.Pack) -> None:
        if find_spec("hatchling") is None:
            raise self.failed(
                f"pack {p.project}",
                "no Python package hatchling",
                "it beside avadm: pip install 'avadm[build]'",
            )
        argv = (
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "--target=wheel",
            f"--directory={self.work / p.to}",
        )
        self.run(f"pack {p.project}", argv, paths.home() / p.project, _ENV)

    def _copy(self, a: r.Source, target: Path) -> None:
        source = paths.home() / a.folder
        self.tell(f"copy {a.folder}")

        for path in files_of(source):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if not self.artifact.version.endswith(content(self.artifact.sources)):
            raise self.failed(
                f"copy {a.folder}", "it was changed meanwhile", "the files of when the build began"
            )
