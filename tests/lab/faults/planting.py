"""Planting faults on nodes so that each is taken away again, by the next run where this one was killed.

What takes a fault away is written to the node's disk before the fault is planted, under the process that planted it; the
sweep runs what it finds there of processes that are gone.
"""

import itertools
import os
import shlex
from contextlib import contextmanager
from pathlib import Path

NOTES = "/var/lib/avadm-faults"
NUMBERS = itertools.count(1)
"""Of the notes of this process: acts of one fault may meet on a node, and each keeps what takes it away."""


def named(lab, where):
    """Return the nodes that ``role``, ``role:INDEX`` or a node's name stands for."""
    role, _, index = where.partition(":")
    nodes = lab.names(role) or [role]
    return [nodes[int(index)]] if index else nodes


@contextmanager
def planted(lab, where, name, do, undo):
    """Run ``do`` on nodes and ``undo`` there at the end, whatever happens between."""
    nodes, kept = named(lab, where), f"{name}.{next(NUMBERS)}.{os.getpid()}"
    note = f"mkdir -p {NOTES} && printf '%s\\n' {shlex.quote(undo)} > {NOTES}/{kept}"
    try:
        for node in nodes:
            lab.sh(node, f"{note} && {{ {do}\n}}")
        yield nodes
    finally:
        left = [
            f"{node}: {done.stdout}{done.stderr}"
            for node in nodes
            if "failed" in (done := _lift(lab, node, kept)).stdout
        ]
        assert not left, f"the fault {name} could not be taken away: {left}"


def _lift(lab, node, note):
    path = f"{NOTES}/{note}"
    line = f"if [ -e {path} ]; then sh -e {path} && rm -f {path} || echo failed; fi; rmdir {NOTES} 2>/dev/null || true"
    return lab.run(node, line)


def sweep(lab):
    """Take away what killed tests left on any node, what was planted last first; return what was found, in lines."""
    found = []
    for node in (n["name"] for n in lab.nodes):
        for note in lab.run(node, f"ls -t {NOTES} 2>/dev/null").stdout.split():
            if not Path(f"/proc/{note.rpartition('.')[2]}").exists():
                found.append(f"{node}: {note} {_lift(lab, node, note).stdout.strip()}".strip())
    return found
