"""What grafana's queries, the exporter and the form tell of GPUs in a fake platform (platform_fakes.py)."""

import json
import re

from platform_isolation_fakes import uuid

from avadm_validation.measuring.targets import MetricsTarget

METRICS = MetricsTarget("m1", "10.0.0.1:9090", "/tls", 9400, "USED", "FREE", "RUNS")


class View:
    """A good platform's; its attributes are what faults change.

    Attributes:
        platform_adds: GPUs that the platform believes taken beside those that are.
        form_adds: free GPUs that the form shows too many.
        joined: whether runs have series.
        shift: cards by which a series is of another card.
        adds: points that a series is above its exporter.
    """

    def __init__(self, world, gpus):
        self.world, self.gpus = world, gpus
        self.platform_adds = self.form_adds = self.shift = self.adds = 0
        self.joined = True

    def answers(self):
        return {
            "api/v1/query": lambda n, c: self.prometheus(c),
            ":9400/metrics": lambda n, c: "".join(
                f'dcgm_gpu_utilization{{gpu="{card}",uuid="{uuid(n, card)}"}} {self.works(card)}\n'
                for card in range(self.gpus[n])
            ),
        }

    def works(self, card):
        return 10 * card + 5

    def prometheus(self, command):
        report = {"USED": self.used, "FREE": self.free, "RUNS": self.runs}
        with self.world.lock:
            results = [report[name]() for name in re.findall(r"query=([A-Z]+)", command)]
        return "".join(json.dumps({"data": {"result": rows}}) + "\n" for rows in results)

    def used(self):
        return [row({"node": n}, len(self.world.taken(n))) for n in self.gpus]

    def free(self):
        return [row({"node": n}, k - len(self.world.taken(n))) for n, k in self.gpus.items()]

    def runs(self):
        if not self.joined:
            return [row({}, 0)]
        return [
            row(
                {
                    "run": r.id,
                    "user": r.owner,
                    "group": r.group,
                    "name": r.name,
                    "node": node,
                    "uuid": uuid(node, card + self.shift),
                },
                (self.works(card + self.shift) + self.adds) / 100,
            )
            for r in self.world.holding()
            for i, node in r.nodes.items()
            for card in r.cards.get(i, ())
        ]

    def form(self):
        rows = [
            f'<option value="{n}">{n} ({k - len(self.world.taken(n)) + self.form_adds} GPUs and 3 cores free)</option>'
            for n, k in self.gpus.items()
        ]
        return "".join(rows)


def row(labels, value):
    return {"metric": labels, "value": [1.0, str(value)]}
