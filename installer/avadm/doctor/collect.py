"""Asking: one question to each node, all nodes at once, and what the controller knows itself."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from avadm import __version__
from avadm.checks.collect import gather
from avadm.checks.evidence import Clock, NodeFacts, Snapshot
from avadm.doctor.parts import QUESTIONS, parameters, site_facts
from avadm.errors import DAMAGE, AvadmError
from avadm.remote.call import Answer, Progress
from avadm.remote.fleet import Fleet
from avadm.remote.redact import Redactor
from avadm.site.load import SiteFile
from avadm_node.probes.health import parts

TIMEOUT = 90.0
"""Seconds for a node's whole answer: more than its slowest part may take."""


def collect(
    site_file: SiteFile,
    fleet: Fleet,
    only: Collection[str] | None = None,
    redactor: Redactor | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Ask every node, once; nothing is changed on them.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
        only: names of the parts to ask for; all where None.
        redactor: removes secrets from output; patterns alone where None.
        progress: is called as answers come.
    """
    begun, taken = time.monotonic(), time.time()
    facts = site_facts(site_file)
    asked, clocks = gather(
        fleet,
        site_file.profile.python,
        parts.ask,
        {node.name: parameters(site_file, facts, node, only) for node in facts.nodes},
        read=lambda found: NodeFacts(parts=found["parts"], errors=found["errors"]),
        timeout=TIMEOUT,
        max_skew_ms=facts.max_skew_ms,
        progress=progress,
    )
    answers = {name: facts_of(answer) for name, answer in asked.items()}
    nodes = {n.name: _with_clock(answers[n.name], clocks.get(n.name)) for n in facts.nodes}
    redactor = redactor or Redactor()
    clean = _redacted({name: node.model_dump() for name, node in nodes.items()}, redactor)
    waivers = tuple(
        w.model_copy(update=_redacted({"who": w.who, "why": w.why}, redactor)) for w in facts.waivers
    )
    return Snapshot(
        avadm=__version__,
        taken=taken,
        seconds=round(time.monotonic() - begun, 2),
        site=facts.model_copy(update={"waivers": waivers}),
        asked=tuple(p.name for p in QUESTIONS if only is None or p.name in only),
        nodes={name: NodeFacts.model_validate(data) for name, data in clean.items()},
        ledger=_phases(site_file),
        operations=_operations(site_file, redactor or Redactor()),
    )


def facts_of(answer: Answer[NodeFacts]) -> NodeFacts:
    """Return what a node reported, or why it reported nothing."""
    if answer.value is not None:
        return answer.value
    silent = answer.result.error is not None
    return NodeFacts(silent=answer.why if silent else f"it gave no facts: {answer.why}")


def _with_clock(node: NodeFacts, clock: Clock | None) -> NodeFacts:
    if clock is None:
        return node
    found = Clock(round(clock.offset_ms, 1), round(clock.error_ms, 1))
    return node.model_copy(update={"clock": found})


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, Mapping):
        return {redactor.text(str(key)): _redacted(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item, redactor) for item in value]
    return value


def _phases(site_file: SiteFile) -> dict[str, str] | None:
    from avadm.engine.status import status
    from avadm.inventory.desired import Desired, Keyring
    from avadm.state.records import SiteRecords

    try:
        desired = Desired.read(site_file, Keyring.open(site_file.path))
        data = status(desired, SiteRecords.of(site_file.path, site_file.site.name, tolerant=True))
        return {str(p["name"]): str(p["state"]) for p in data["phases"]}
    except (AvadmError, *DAMAGE):
        return None


def _operations(site_file: SiteFile, redactor: Redactor) -> dict[str, list[dict[str, Any]]] | None:
    from avadm.operations.overview import overview
    from avadm.state.lock.controller import holder
    from avadm.state.records import SiteRecords

    try:
        records = SiteRecords.of(site_file.path, site_file.site.name)
        found = overview(records.state, time.time(), running=holder(records.folder) is not None)
        # Reasons and commands are what people typed.
        return {name: _redacted(rows, redactor) for name, rows in found.items()}
    except (AvadmError, *DAMAGE):
        return None
