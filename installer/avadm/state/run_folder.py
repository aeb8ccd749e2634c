"""Run folders: one private folder per run with all that is needed to see afterwards what happened."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from avadm import paths
from avadm.errors import DAMAGE, AvadmError
from avadm.remote.events import Event

LATEST = "latest"
_STAMP = "%Y%m%dT%H%M%SZ"


def write_atomic(path: Path, text: str) -> None:
    """Write a file (0600) as a whole or not at all, even if the machine stops."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run's folder.

    Attributes:
        path: the folder; its name ``<UTC time>-<verb>`` is the run's id.
    """

    path: Path

    @classmethod
    def create(cls, verb: str, root: Path | None = None, now: datetime | None = None) -> RunFolder:
        """Make a new folder (0700) for a verb and point ``latest`` at it.

        Raises:
            AvadmError: the folder cannot be made.
        """
        root = root or paths.runs()
        stamp = f"{now or datetime.now(UTC):{_STAMP}}"
        try:
            root.mkdir(parents=True, exist_ok=True)
            path = _make_unique(root, f"{stamp}-{verb}")
        except OSError as error:
            raise AvadmError.of(
                "run-folder",
                where=str(root),
                found=error.strerror or str(error),
                wanted="a folder that can be written",
            ) from error
        _point(root, path.name)
        return cls(path)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def verb(self) -> str:
        """The verb that ran."""
        return self.path.name.partition("-")[2].split(".")[0]

    @property
    def started(self) -> datetime:
        """When the run started (UTC, whole seconds)."""
        return datetime.strptime(self.path.name.partition("-")[0], _STAMP).replace(tzinfo=UTC)

    @property
    def inventory(self) -> Path:
        """Where the rendered inventory lies."""
        return self.path / "inventory"

    @property
    def log(self) -> Path:
        """The log for people."""
        return self.path / "log.txt"

    @property
    def begun(self) -> bool:
        """Whether anything was recorded."""
        return (self.path / "events.jsonl").exists()

    def write_json(self, name: str, data: object) -> Path:
        """Write one JSON file (0600) into the folder and return its path."""
        path = self.path / name
        write_atomic(path, json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")
        return path

    def read_json(self, name: str) -> Any:
        """Return what a JSON file of the folder holds; None where it is missing or broken (a killed run)."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except DAMAGE:
            return None

    def read_mapping(self, name: str) -> dict[str, Any]:
        """Return the mapping that a JSON file of the folder holds, an empty one where it holds none."""
        data = self.read_json(name)
        return data if isinstance(data, dict) else {}

    @property
    def site(self) -> str | None:
        """Name of the site that the run was for; None where it kept none."""
        report = (
            self.read_mapping(name).get("site") for name in ("summary.json", "plan.json", "ledger.json")
        )
        return next((str(site) for site in report if site), None)

    def events(self) -> Iterator[Event]:
        """Yield the recorded events; a last line that was cut off by a kill is left out."""
        path = self.path / "events.jsonl"
        if not path.is_file():
            return
        with path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                with suppress(*DAMAGE):
                    yield Event.from_dict(json.loads(line))


def _make_unique(root: Path, name: str) -> Path:
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}.{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        path.chmod(0o700)
        return path


def _point(root: Path, name: str) -> None:
    """Point ``latest`` at a run."""
    link = root / f".{LATEST}.{os.getpid()}"
    link.unlink(missing_ok=True)
    link.symlink_to(name)
    link.replace(root / LATEST)


def list_runs(root: Path | None = None) -> list[RunFolder]:
    """Return all runs, oldest first."""
    root = root or paths.runs()
    if not root.is_dir():
        return []
    found = []
    for path in sorted(root.iterdir()):
        if path.is_symlink() or not path.is_dir():
            continue
        folder = RunFolder(path)
        with suppress(ValueError):
            _ = folder.started
            found.append(folder)
    return found


def find_run(name: str = LATEST, root: Path | None = None) -> RunFolder:
    """Return a run by id, by the beginning of its id, or the latest one.

    Raises:
        AvadmError: there is none, or the beginning fits several.
    """
    runs = list_runs(root)
    if name == LATEST and runs:
        return runs[-1]
    exact = [r for r in runs if r.id == name]
    near = exact or [r for r in runs if r.id.startswith(name)]
    if len(near) == 1:
        return near[0]
    raise AvadmError.of(
        "unknown-run" if runs else "unknown-run-none",
        where=str(root or paths.runs()),
        found=", ".join(r.id for r in near[:5]) or "none",
        wanted=f"one of {len(runs)} run ids, or {LATEST}",
        name=name,
    )


def discard(folder: RunFolder) -> None:
    """Remove the folder of a run that could not start, so that it does not look like one that did."""
    shutil.rmtree(folder.path, ignore_errors=True)
    root = folder.path.parent
    with suppress(OSError):
        if (root / LATEST).readlink() == Path(folder.id):
            (root / LATEST).unlink()
            for last in list_runs(root)[-1:]:
                _point(root, last.id)
