"""What each phase left behind, as values of its items; kept beside the ledger and asked again later."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from avadm.errors import DAMAGE
from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm.remote.managed_resources import CLUSTER, UNPROVEN, kind
from avadm.state.run_folder import write_atomic
from nodeside.fingerprint import values

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

VERSION = 1
TIMEOUT = 60.0  # seconds
WHOLE = ""
"""The name under which the cluster's items are asked, beside those of hosts."""
OF = "@"
"""What stands before a host's name where the cluster's items that its tasks keep are kept."""
WRONG = "!"
"""What a value begins with that is wrong in itself."""


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """What one phase left on one host, or what its tasks on that host left in the cluster.

    Attributes:
        run: id of the run that left it so: a ledger entry of another run says that it is out of date.
        host: where the tasks ran.
        values: item to value.
    """

    run: str
    host: str
    values: Mapping[str, str]


@dataclass
class Answers:
    """What nodes said: host (or WHOLE) to item to value, and why a host said nothing."""

    values: dict[str, dict[str, str]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


class SnapshotStore:
    """The fingerprints of a site on disk (0600); safe to use from the threads of one run.

    Args:
        path: the JSON file. Where it is missing or cannot be understood nothing counts as proven.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._phases: dict[str, dict[str, HostSnapshot]] = {}
        try:
            self._load(json.loads(path.read_text(encoding="utf-8")))
        except DAMAGE:
            self.salt = secrets.token_hex(16)

    def _load(self, data: Mapping[str, Any]) -> None:
        if data["version"] != VERSION:
            raise ValueError(data["version"])
        self.salt = str(data["salt"])
        self._phases = {
            # An older release kept all of the cluster's items under one name.
            phase: {
                host or OF + p["host"]: HostSnapshot(p["run"], p["host"], dict(p["values"]))
                for host, p in hosts.items()
            }
            for phase, hosts in data["phases"].items()
        }

    def replace(self, data: Mapping[str, Any], *, write: bool = True) -> None:
        """Take over what `as_dict` gave, here and (unless told not to) on disk; ValueError … for anything else."""
        with self._lock:
            self._load(data)
            if write:
                self._save()

    def get(self, phase: str, host: str) -> HostSnapshot | None:
        """Return what a phase left on a host."""
        return self._phases.get(phase, {}).get(host)

    def of_cluster(self, phase: str) -> list[HostSnapshot]:
        """Return what a phase left in the cluster, one for each host whose tasks keep something there."""
        return [p for name, p in self._phases.get(phase, {}).items() if name.startswith(OF)]

    def keep(self, phase: str, prints: Mapping[str, HostSnapshot]) -> None:
        """Keep what a phase left; hosts that are not named stay as they were.

        An item of the cluster is of whoever kept it last: a run on a few nodes replaces those items that it kept itself.
        """
        newer = {item for name, p in prints.items() if name.startswith(OF) for item in p.values}
        with self._lock:
            kept = self._phases.setdefault(phase, {})
            for name, p in list(kept.items()):
                if name.startswith(OF):
                    left = {} if p.host in prints else {i: v for i, v in p.values.items() if i not in newer}
                    kept[name] = HostSnapshot(p.run, p.host, left)
                    if not left:
                        del kept[name]
            kept.update(prints)
            self._save()

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(self.as_dict(), indent=1) + "\n")

    def as_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready data; it says nothing of secrets to whoever has not the salt."""
        phases = {
            phase: {h: {"run": p.run, "host": p.host, "values": dict(p.values)} for h, p in hosts.items()}
            for phase, hosts in self._phases.items()
        }
        return {"version": VERSION, "salt": self.salt, "phases": phases}


class Collector:
    """Asks nodes for the present values of items, in one round trip for each node.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
        salt: of the site's fingerprints.
    """

    def __init__(self, site_file: SiteFile, fleet: Fleet, salt: str) -> None:
        self._fleet = fleet
        self._salt = salt
        self._python = site_file.profile.python
        self._mons = [n.name for n in site_file.site.with_role("mon")]

    def ask(self, wanted: Mapping[str, Collection[str]]) -> Answers:
        """Return the values of each host's items; those of WHOLE are asked of a monitor node that answers."""
        answers = Answers()
        whole = list(wanted.get(WHOLE, ()))
        items = {host: list(some) for host, some in wanted.items() if host != WHOLE}
        witness = next((m for m in self._mons if m in items), next(iter(self._mons), None))
        if whole and witness is not None:
            items[witness] = [*items.get(witness, []), *whole]
        self._round(items, answers)
        if whole:
            for other in (m for m in self._mons if m != witness and witness in answers.silent):
                self._round({other: whole}, again := Answers())
                if other in again.values:
                    witness, answers.values[WHOLE] = other, again.values[other]
                    break
            else:
                said = answers.values.get(witness or "", {})
                answers.values[WHOLE] = {item: said[item] for item in whole if item in said}
        return answers

    def _round(self, items: Mapping[str, Collection[str]], answers: Answers) -> None:
        given = {host: {"salt": self._salt, "items": sorted(set(some))} for host, some in items.items()}
        for host, said in ask(
            self._fleet, self._python, values.values, given, read=_texts, timeout=TIMEOUT
        ).items():
            if said.value is None:
                answers.silent[host] = said.why
            else:
                answers.values[host] = said.value


def _texts(found: Any) -> dict[str, str]:
    return {str(item): str(value) for item, value in mapping(found).items()}


def split(managed: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return host to its items, with those of the cluster under WHOLE; what cannot be asked stays out."""
    out: dict[str, list[str]] = {}
    for host, items in managed.items():
        for item in items:
            if kind(item) != UNPROVEN:
                out.setdefault(WHOLE if kind(item) in CLUSTER else host, []).append(item)
    return out


def record(
    asker: Collector, prints: SnapshotStore, phase: str, run: str, managed: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """Ask for what a phase has left behind and keep it; return host to why it could not be asked.

    Args:
        asker: asks the nodes.
        prints: where it is kept.
        phase: the phase, which went well.
        run: id of the run.
        managed: host to the items that its tasks stand for.
    """
    managed = {host: list(items) for host, items in managed.items()}
    wanted = split(managed)
    answers = asker.ask(wanted)
    kept: dict[str, HostSnapshot] = {}
    for host, items in managed.items():
        if host in answers.silent:
            continue
        values = {item: answers.values.get(host, {}).get(item, "!not told") for item in wanted.get(host, [])}
        # Nothing runs here that has this setting, so there is nothing to compare: an MDS comes after the OSDs.
        values = {item: value for item, value in values.items() if value}
        values |= {item: "!what this task keeps" for item in items if kind(item) == UNPROVEN}
        kept[host] = HostSnapshot(run, host, values)
    said = answers.values.get(WHOLE, {})
    left = set(wanted.get(WHOLE, ()))
    for host, items in managed.items():
        ours = [item for item in dict.fromkeys(items) if item in left]
        left.difference_update(ours)
        if ours:
            kept[OF + host] = HostSnapshot(run, host, {item: said.get(item, "!not told") for item in ours})
    prints.keep(phase, kept)
    return answers.silent
