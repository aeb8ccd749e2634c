"""The state: for each phase and host, what its state is and which inputs it was done with (design 3)."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from avadm.errors import DAMAGE, AvadmError
from avadm.state.operations import OperationRecord, Operations, SettingRecord
from avadm.state.run_folder import write_atomic

VERSION = 1


class PhaseState(StrEnum):
    """The state of one phase on one host."""

    DONE = "done"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    RUNNING = "running"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Entry:
    """One phase on one host.

    Attributes:
        state: see PhaseState.
        digest: of the inputs (inventory/digest.py) that the work was started with.
        run: id of the run that wrote the entry.
        started: epoch seconds.
        finished: epoch seconds, None while it runs.
    """

    state: PhaseState
    digest: str = ""
    run: str = ""
    started: float | None = None
    finished: float | None = None


def state_folder(site_path: Path, name: str) -> Path:
    """Return the folder beside a site file that keeps its state and lock."""
    return site_path.parent / ".avadm" / name


class SiteState:
    """A site's state on disk; safe to use from the threads of one run.

    Args:
        path: the JSON file; it need not exist yet.
        site: name of the site.
        tolerant: whether a file that cannot be understood is noted in ``damage`` instead of raised: a copy on the
            nodes may replace it (state/replication.py).

    Attributes:
        serial: how often it was written; the greater one of two copies is the newer.
        keepers: the nodes that kept the site's lock in the last run that wrote; none in the state of an older release.
        damage: why the file cannot be understood, None where it can.

    Raises:
        AvadmError: the file is there but cannot be understood.
    """

    def __init__(self, path: Path, site: str, *, tolerant: bool = False) -> None:
        self.path = path
        self.site = site
        self.serial = 0
        self.keepers: tuple[str, ...] = ()
        self.damage: AvadmError | None = None
        self._lock = threading.Lock()
        self._entries: dict[str, dict[str, Entry]] = {}
        self._bootstrapped: dict[str, dict[str, str]] = {}
        self._operations = Operations.empty()
        try:
            self._hold(_read(path))
        except AvadmError as error:
            if not tolerant:
                raise
            self.damage = error

    @classmethod
    def of(cls, site_path: Path, name: str, *, tolerant: bool = False) -> SiteState:
        """Return the state of a site file."""
        return cls(state_folder(site_path, name) / "ledger.json", name, tolerant=tolerant)

    def replace(self, data: Mapping[str, Any], *, write: bool = True) -> None:
        """Take over what `as_dict` gave, here and (unless ``write`` is false) on disk; ValueError … for anything else."""
        held = _parse(data)
        with self._lock:
            self._hold(held)
            self.damage = None
            if write:
                self.serial -= 1
                self._save()

    def _hold(self, held: _Held) -> None:
        self.serial, self._entries, self._bootstrapped, self.keepers, self._operations = held

    def entry(self, phase: str, host: str) -> Entry:
        """Return the entry of a phase on a host; a pending one where nothing was done."""
        return self._entries.get(phase, {}).get(host) or Entry(PhaseState.PENDING)

    def start(self, phase: str, digests: Mapping[str, str], run: str) -> None:
        """Record that a phase starts on hosts, with the digest of each host's inputs."""
        now = time.time()
        with self._lock:
            entries = self._entries.setdefault(phase, {})
            for host, digest in digests.items():
                entries[host] = Entry(PhaseState.RUNNING, digest, run, now)
            self._save()

    def finish(self, phase: str, states: Mapping[str, PhaseState]) -> None:
        """Record how a phase ended on hosts."""
        now = time.time()
        with self._lock:
            entries = self._entries.setdefault(phase, {})
            for host, state in states.items():
                e = entries.get(host) or Entry(PhaseState.PENDING)
                entries[host] = replace(e, state=state, finished=now)
            self._save()

    def found(self, name: str, host: str, identity: str) -> None:
        """Record that something was bootstrapped on a host (state/bootstrap_marks.py); only its removal forgets it."""
        with self._lock:
            held = self._bootstrapped.setdefault(name, {})
            if held.get(host) != identity:
                held[host] = identity
                self._save()

    def bootstrapped(self, name: str) -> dict[str, str]:
        """Return the hosts on which something was bootstrapped, with its identity."""
        return dict(self._bootstrapped.get(name, {}))

    def forget(self, host: str, phases: Collection[str] | None = None) -> None:
        """Forget a node that left the site for good, and what was bootstrapped there; or some of its phases alone."""
        with self._lock:
            for phase, hosts in self._entries.items():
                if phases is None or phase in phases:
                    hosts.pop(host, None)
            if phases is None:
                for marked in self._bootstrapped.values():
                    marked.pop(host, None)
            self._save()

    def unfound(self, name: str, host: str) -> None:
        """Forget that something was bootstrapped on a host: it was removed there on purpose."""
        with self._lock:
            if self._bootstrapped.get(name, {}).pop(host, None) is not None:
                self._save()

    def begun(self) -> list[OperationRecord]:
        """Return the operations that were begun and have not ended well, oldest first."""
        return list(self._operations.begun.values())

    def keep_operation(self, record: OperationRecord) -> None:
        """Record how far an operation has come."""
        with self._lock:
            self._operations.begun[record.command] = record
            self._save()

    def drop_operation(self, command: str, notes: Mapping[str, dict[str, Any] | None]) -> None:
        """Record that an operation ended well, and what that leaves; a note of None is removed."""
        with self._lock:
            self._operations.begun.pop(command, None)
            for name, note in notes.items():
                if note is None:
                    self._operations.notes.pop(name, None)
                else:
                    self._operations.notes[name] = note
            self._save()

    def keep_note(self, name: str, note: Mapping[str, Any]) -> None:
        """Record what an operation leaves before it has ended: it stays if that fails."""
        with self._lock:
            self._operations.notes[name] = dict(note)
            self._save()

    def notes(self) -> dict[str, dict[str, Any]]:
        """Return what operations left, by name."""
        return dict(self._operations.notes)

    def settings(self) -> list[SettingRecord]:
        """Return the temporary settings, oldest first."""
        return list(self._operations.settings)

    def setting(self, kind: str, target: str, owner: str) -> SettingRecord | None:
        """Return an owner's setting, None where it has none."""
        return next((r for r in self._operations.settings if _same(r, kind, target, owner)), None)

    def keep_setting(self, record: SettingRecord) -> None:
        """Record a temporary setting, in place of an earlier record of the same."""
        with self._lock:
            self._drop(record)
            self._operations.settings.append(record)
            self._save()

    def drop_setting(self, record: SettingRecord) -> None:
        """Record that a temporary setting was undone."""
        with self._lock:
            self._drop(record)
            self._save()

    def _drop(self, record: SettingRecord) -> None:
        held = self._operations.settings
        held[:] = [r for r in held if not _same(r, record.kind, record.target, record.owner)]

    def settle(self) -> None:
        """Turn what a killed run left as running into failed: it was begun and no one saw it end."""
        with self._lock:
            changed = False
            for entries in self._entries.values():
                for host, e in entries.items():
                    if e.state is PhaseState.RUNNING:
                        entries[host] = replace(e, state=PhaseState.FAILED)
                        changed = True
            if changed:
                self._save()

    def done(self, phase: str, hosts: Iterable[str]) -> bool:
        """Return whether a phase is done on all these hosts (with whatever inputs)."""
        return all(self.entry(phase, h).state is PhaseState.DONE for h in hosts)

    def as_dict(self) -> dict[str, Any]:
        """Return the state as JSON-ready data."""
        phases = {p: {h: asdict(e) for h, e in sorted(hosts.items())} for p, hosts in self._entries.items()}
        about = {"version": VERSION, "serial": self.serial, "site": self.site, "keepers": list(self.keepers)}
        bootstrapped = {n: dict(sorted(h.items())) for n, h in sorted(self._bootstrapped.items())}
        operations = self._operations.as_dict()
        return {**about, "phases": phases, "founded": bootstrapped, "operations": operations}

    def _save(self) -> None:
        self.serial += 1
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path, json.dumps(self.as_dict(), indent=1) + "\n")
        except OSError as error:
            raise AvadmError.of(
                "ledger-unwritable", where=str(self.path), found=error.strerror or str(error)
            ) from error


def _entry(data: Mapping[str, Any]) -> Entry:
    """Return an entry of the file; keys of another release are left out."""
    known = {f.name: data[f.name] for f in fields(Entry) if f.name in data}
    for name in ("started", "finished"):
        if known.get(name) is not None and not math.isfinite(known[name]):
            raise ValueError(f"{name} {known[name]}")
    return Entry(**{**known, "state": PhaseState(data["state"])})


def _same(record: SettingRecord, kind: str, target: str, owner: str) -> bool:
    return (record.kind, record.target, record.owner) == (kind, target, owner)


_Held = tuple[int, dict[str, dict[str, Entry]], dict[str, dict[str, str]], tuple[str, ...], Operations]
"""Serial, entries, marks of what was bootstrapped, the lock's nodes, and operations."""


def _parse(data: Mapping[str, Any]) -> _Held:
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']}")
    phases = {phase: {h: _entry(e) for h, e in hosts.items()} for phase, hosts in data["phases"].items()}
    # An older avadm wrote neither marks nor the lock's nodes.
    marks = data.get("founded", {})
    bootstrapped = {str(n): {str(h): str(what) for h, what in hosts.items()} for n, hosts in marks.items()}
    keepers = tuple(str(name) for name in data.get("keepers", ()))
    operations = Operations.parse(data.get("operations", {}))
    return int(data.get("serial", 0)), phases, bootstrapped, keepers, operations


def _read(path: Path) -> _Held:
    try:
        return _parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return 0, {}, {}, (), Operations.empty()
    except DAMAGE as error:
        raise AvadmError.of(
            "ledger-unreadable",
            where=str(path),
            found=str(error)[:200],
            wanted=f"a state file of version {VERSION}",
        ) from error
