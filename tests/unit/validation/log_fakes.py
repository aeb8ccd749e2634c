"""Stores of logs without nodes: what nodes write and what `logread.py` would print of it on each store."""

import json

from acceptance_fakes import Result

from avadm_validation.measuring.targets import LogTarget, Target

NODES = ("n1", "n2")
STORES = {"s1": "https://10.0.0.1:9428", "s2": "https://10.0.0.2:9428"}
LINES = 3


class FakeLogs:
    """Good stores; ``lost`` is what faults change: a store and the number of a line that it lacks of each node."""

    def __init__(self):
        self.lost = set()

    def target(self):
        return Target("s", "p", "lab", (), "n1", NODES, logs=LogTarget(STORES, "reader"))

    def run(self, node, command, *, timeout=60.0, stdin=None):
        text = ""
        if "logger" in command:
            text = "".join(f"{line}\n" for line in self.lines(node))
        elif stdin:
            found = {line: 1.0 for n in NODES for line in self.lines(n) if not self.lacks(node, line)}
            text = json.dumps({"found": found, "asked": 1, "error": ""})
        return Result(node, command, stdout=text)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout, stdin=stdin) for n, c in commands.items()}

    def lines(self, node):
        return [f"m {node} {i} 100.5" for i in range(LINES)]

    def lacks(self, store, line):
        return (store, int(line.split()[2])) in self.lost
