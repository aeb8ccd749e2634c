"""Asking nodes for the present values of what phases keep there, and recording them after a phase."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm.remote.managed_resources import CLUSTER, UNPROVEN, kind
from avadm.site.load import SiteFile
from avadm.state.snapshots import OF, WHOLE, HostSnapshot, SnapshotStore
from avadm_node.probes.drift import values

TIMEOUT = 60.0  # seconds


@dataclass
class Answers:
    """What nodes reported: host (or WHOLE) to item to value, and why a host reported nothing."""

    values: dict[str, dict[str, str]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


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
                reply = answers.values.get(witness or "", {})
                answers.values[WHOLE] = {item: reply[item] for item in whole if item in reply}
        return answers

    def _round(self, items: Mapping[str, Collection[str]], answers: Answers) -> None:
        given = {host: {"salt": self._salt, "items": sorted(set(some))} for host, some in items.items()}
        for host, reply in ask(
            self._fleet, self._python, values.values, given, read=_texts, timeout=TIMEOUT
        ).items():
            if reply.value is None:
                answers.silent[host] = reply.why
            else:
                answers.values[host] = reply.value


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
        values = {
            item: answers.values.get(host, {}).get(item, "!not reported") for item in wanted.get(host, [])
        }
        # Nothing runs here that has this setting, so there is nothing to compare: an MDS comes after the OSDs.
        values = {item: value for item, value in values.items() if value}
        values |= {item: "!what this task keeps" for item in items if kind(item) == UNPROVEN}
        kept[host] = HostSnapshot(run, host, values)
    reply = answers.values.get(WHOLE, {})
    left = set(wanted.get(WHOLE, ()))
    for host, items in managed.items():
        ours = [item for item in dict.fromkeys(items) if item in left]
        left.difference_update(ours)
        if ours:
            kept[OF + host] = HostSnapshot(
                run, host, {item: reply.get(item, "!not reported") for item in ours}
            )
    prints.keep(phase, kept)
    return answers.silent
