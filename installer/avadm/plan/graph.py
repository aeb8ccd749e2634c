"""The phase graph: from phases and a site to a plan: what is installed where, in which order, what at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from graphlib import TopologicalSorter
from typing import Any

from avadm.catalogue import finding
from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.errors import AvadmError
from avadm.site.model import Site

__all__ = ["PHASES", "Phase", "ScheduledPhase", "make_plan", "select"]


@dataclass(frozen=True, slots=True)
class ScheduledPhase:
    """One phase of a plan.

    Attributes:
        phase: the phase.
        hosts: nodes that take part, in the site file's order; never empty.
        needs: phases *of this plan* that must be done before.
        wave: steps of one wave may run at once; 1 is the first.
        pulled_in: whether the phase was not asked for but is needed and not done yet.
        proven: nodes that are left out since all is proven unchanged there: what needs the phase can continue by them.
    """

    phase: Phase
    hosts: tuple[str, ...]
    needs: tuple[str, ...]
    wave: int
    pulled_in: bool = False
    proven: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The phase's name."""
        return self.phase.name

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON-ready data."""
        return {
            "name": self.name,
            "title": self.phase.title,
            "playbook": self.phase.playbook,
            "wave": self.wave,
            "needs": list(self.needs),
            "hosts": list(self.hosts),
            "pulled_in": self.pulled_in,
        }


def select(names: Sequence[str], phases: Sequence[Phase] = PHASES) -> list[Phase]:
    """Return the named phases (all where none is named) in the graph's order.

    Raises:
        AvadmError: for every name that is no phase, with the nearest one.
    """
    known = {p.name: p for p in phases}
    findings = []
    for name in names:
        if name in known:
            continue
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        findings.append(
            finding("unknown-phase", "command line", name, ", ".join(known), name=name, guess=guess)
        )
    if findings:
        raise AvadmError(findings)
    return [p for p in phases if not names or p.name in names]


def make_plan(
    site: Site,
    names: Sequence[str] = (),
    *,
    limit: Collection[str] = (),
    pull_in: Collection[str] = (),
    phases: Sequence[Phase] = PHASES,
) -> list[ScheduledPhase]:
    """Return the phases to run in order, without those that have no nodes.

    Args:
        site: the site.
        names: phases that are asked for; all where empty.
        limit: names of the nodes that may be touched; all where empty.
        pull_in: phases that are not done yet: they are added where a phase that is asked for needs them.
        phases: the graph, for tests.

    Raises:
        AvadmError: for unknown phase names, and a limit that leaves nothing to do.
    """
    asked = {p.name for p in select(names, phases)}
    allowed = limit or {n.name for n in site.nodes}
    by_name = {p.name: p for p in phases}
    wanted = asked | {n for a in asked for n in _ancestors(a, by_name) if n in pull_in}
    hosts = {
        p.name: kept
        for p in phases
        if p.name in wanted and (kept := tuple(h for h in p.hosts(site) if h in allowed))
    }
    if not asked & hosts.keys():
        raise AvadmError.of(
            "nothing-to-do",
            where="--limit" if limit else "site file",
            found=", ".join(limit) or "no node with these roles",
            wanted="; ".join(f"{n}: {', '.join(by_name[n].groups) or 'any node'}" for n in sorted(asked)),
        )
    # A phase that is left out hands its own needs on, so that order survives a gap.
    needs_of = {p.name: p.needs for p in phases}
    needs = {name: _inherited(needs_of[name], hosts.keys(), needs_of) for name in hosts}
    steps: dict[str, ScheduledPhase] = {}
    rank = {p.name: i for i, p in enumerate(phases)}
    for name in _order(needs, rank):
        wave = 1 + max((steps[n].wave for n in needs[name]), default=0)
        steps[name] = ScheduledPhase(by_name[name], hosts[name], needs[name], wave, name not in asked)
    return sorted(steps.values(), key=lambda s: (s.wave, rank[s.name]))


def subset(steps: Sequence[ScheduledPhase], names: Collection[str]) -> list[ScheduledPhase]:
    """Return the named steps of a plan, in its order; one that is left out hands its own needs on."""
    needs_of = {step.name: step.needs for step in steps}
    kept: dict[str, ScheduledPhase] = {}
    for step in steps:  # what a step needs stands before it
        if step.name in names:
            needs = _inherited(step.needs, names, needs_of)
            wave = 1 + max((kept[n].wave for n in needs), default=0)
            kept[step.name] = replace(step, needs=needs, wave=wave)
    return sorted(kept.values(), key=lambda s: s.wave)


def _ancestors(name: str, by_name: dict[str, Phase]) -> set[str]:
    direct = by_name[name].needs
    return set(direct).union(*(_ancestors(n, by_name) for n in direct))


def _inherited(
    needs: Iterable[str], kept: Collection[str], needs_of: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    out: list[str] = []
    for name in needs:
        found = (name,) if name in kept else _inherited(needs_of[name], kept, needs_of)
        out += [f for f in found if f not in out]
    return tuple(out)


def _order(needs: dict[str, tuple[str, ...]], rank: dict[str, int]) -> list[str]:
    # graphlib raises CycleError for a cycle, which only a mistake in PHASES can make (a unit test looks).
    sorter = TopologicalSorter({name: needs[name] for name in sorted(needs, key=rank.__getitem__)})
    return list(sorter.static_order())
