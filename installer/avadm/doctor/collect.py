"""Asking: one script to each node, all nodes at once, and what the controller knows itself."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from typing import Any

from avadm import __version__
from avadm.checks.base import Clock
from avadm.checks.collect import clock_of, sharpen
from avadm.doctor.model import ClockFacts, NodeFacts, SiteNode, Snapshot
from avadm.doctor.parts import QUESTIONS, parameters, site_facts
from avadm.errors import DAMAGE, AvadmError
from avadm.runner.fleet import Fleet, Result
from avadm.runner.redact import Redactor
from avadm.sitefile.load import SiteFile

TIMEOUT = 90.0
"""Seconds for a node's whole answer: more than its slowest part may take."""
FILES = (
    "host_probe",
    "storage_probe",
    "kube_probe",
    "network_probe",
    "data_probe",
    "risk_probe",
    "main_probe",
)
Told = Callable[[str, int, int], None]
"""Is told the node that has just answered, how many have, and how many there are."""


def probe() -> str:
    """Return the script that the nodes run; Python 2.7 and 3."""
    sources = [files("avadm.checks") / "opener_probe.py", *(files("avadm.doctor") / f"{n}.py" for n in FILES)]
    return "".join(source.read_text(encoding="utf-8") for source in sources)


def collect(
    site_file: SiteFile,
    fleet: Fleet,
    only: Collection[str] | None = None,
    redactor: Redactor | None = None,
    told: Told | None = None,
) -> Snapshot:
    """Ask every node, once; nothing is changed on them.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
        only: names of the parts to ask for; all where None.
        redactor: takes secrets out of what was said; patterns alone where None.
        told: is called as answers come.
    """
    begun, taken = time.monotonic(), time.time()
    facts, script = site_facts(site_file), probe()
    command = f"date +%s.%N; {shlex.quote(site_file.profile.python)} -; date +%s.%N"

    def ask(node: SiteNode) -> Result:
        given = json.dumps(json.dumps(parameters(site_file, facts, node, only)))
        stdin = f"PARAMS = {given}\n{script}"
        return fleet.run(node.name, command, timeout=TIMEOUT, stdin=stdin.encode())

    answers: dict[str, NodeFacts] = {}
    clocks: dict[str, Clock] = {}
    with ThreadPoolExecutor(len(facts.nodes), thread_name_prefix="doctor") as pool:
        try:
            asked = {pool.submit(ask, n): n.name for n in facts.nodes}
            for done, future in enumerate(as_completed(asked), start=1):
                name, result = asked[future], future.result()
                answers[name] = answer(result)
                if (clock := stamped(result)) is not None:
                    clocks[name] = clock
                if told is not None:
                    told(name, done, len(facts.nodes))
        except BaseException:
            # ctrl-C: the pool would wait for the slowest node.
            fleet.close(n.name for n in facts.nodes)
            raise
    sharpen(clocks, fleet, facts.max_skew_ms)
    nodes = {n.name: _with_clock(answers[n.name], clocks.get(n.name)) for n in facts.nodes}
    clean = _redacted({name: node.model_dump() for name, node in nodes.items()}, redactor or Redactor())
    return Snapshot(
        avadm=__version__,
        taken=taken,
        seconds=round(time.monotonic() - begun, 2),
        site=facts,
        asked=tuple(p.name for p in QUESTIONS if only is None or p.name in only),
        nodes={name: NodeFacts.model_validate(data) for name, data in clean.items()},
        ledger=_ledger(site_file),
    )


def answer(result: Result) -> NodeFacts:
    """Return what a node's answer says: the one line that is JSON, between two time stamps."""
    if result.error is not None:
        return NodeFacts(silent=result.error)
    for line in result.stdout.splitlines():
        if line.startswith("{"):
            try:
                found = json.loads(line)
                return NodeFacts(parts=found["parts"], errors=found["errors"])
            except DAMAGE:
                continue
    said = (result.stderr.strip().splitlines() or [f"exit {result.rc}"])[-1]
    return NodeFacts(silent=f"it gave no facts: {said}")


def stamped(result: Result) -> Clock | None:
    """Return the node's clock from the two stamps around its answer; None without them."""
    lines = result.stdout.strip().split("\n")
    try:
        return clock_of(result, float(lines[0]), float(lines[-1]))
    except ValueError:
        return None


def _with_clock(node: NodeFacts, clock: Clock | None) -> NodeFacts:
    if clock is None:
        return node
    found = ClockFacts(offset_ms=round(clock.offset_ms, 1), error_ms=round(clock.error_ms, 1))
    return node.model_copy(update={"clock": found})


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, Mapping):
        return {redactor.text(str(key)): _redacted(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item, redactor) for item in value]
    return value


def _ledger(site_file: SiteFile) -> dict[str, str] | None:
    from avadm.engine.prepare import SiteContext
    from avadm.engine.status import status

    try:
        data = status(SiteContext.of(site_file, tolerant=True))
        return {str(p["name"]): str(p["state"]) for p in data["phases"]}
    except (AvadmError, *DAMAGE):
        return None
