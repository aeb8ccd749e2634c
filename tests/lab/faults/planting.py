"""Planting faults on nodes so that each is taken away again, by the next run where this one was killed.

What takes a fault away is written to the node's disk before the fault is planted; the sweep runs what it finds there.
"""

import shlex
from contextlib import contextmanager

NOTES = "/var/lib/avadm-faults"
SWEEP = (
    f"for f in {NOTES}/*; do if [ -e $f ]; then echo $f; sh -e $f >&2 && rm -f $f || echo failed $f; fi; done; "
    f"rmdir {NOTES} 2>/dev/null || true"
)


def named(lab, where):
    """Return the nodes that ``role``, ``role:INDEX`` or a node's name stands for."""
    role, _, index = where.partition(":")
    nodes = lab.names(role) or [role]
    return [nodes[int(index)]] if index else nodes


@contextmanager
def planted(lab, where, name, do, undo):
    """Run ``do`` on nodes and ``undo`` there at the end, whatever happens between."""
    nodes = named(lab, where)
    note = f"mkdir -p {NOTES} && printf '%s\\n' {shlex.quote(undo)} > {NOTES}/{name}"
    try:
        for node in nodes:
            lab.sh(node, f"{note} && {{ {do}\n}}")
        yield nodes
    finally:
        left = [
            f"{node}: {done.stdout}{done.stderr}"
            for node in nodes
            if "failed" in (done := _lift(lab, node, name)).stdout
        ]
        assert not left, f"the fault {name} could not be taken away: {left}"


def _lift(lab, node, name):
    note = f"{NOTES}/{name}"
    return lab.run(
        node,
        f"if [ -e {note} ]; then sh -e {note} && rm -f {note} || echo failed; fi; rmdir {NOTES} 2>/dev/null || true",
    )


def sweep(lab):
    """Take away what killed tests left on any node; return what was found, in lines."""
    return [
        f"{n['name']}: {line}" for n in lab.nodes for line in lab.run(n["name"], SWEEP).stdout.splitlines()
    ]
