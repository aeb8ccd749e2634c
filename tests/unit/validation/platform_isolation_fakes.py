"""What the attacks of one tenant on another come to in a fake platform (platform_fakes.py)."""

import base64
import json
import shlex
import zlib

from avadm_validation.suites.platform.isolation.setup import CHECKPOINT


def uuid(node, card):
    return f"GPU-{node}-{card}"


class Attacks:
    """A good platform's; its attributes are what faults change.

    Attributes:
        through: attacks that get through from users' containers.
        void: attacks that get through nowhere.
        sees: cards that a container of a run sees: those that it has.
        opens: cards that a device file of its own making opens.
        untold: attacks that containers do not tell of.
    """

    def __init__(self, world):
        self.world, self.through, self.void, self.untold = world, set(), set(), set()
        self.sees = self.opens = lambda run: self.cards(run)
        self.driver = False

    def answers(self):
        return {
            "get pods --all-namespaces -l": lambda n, c: self.pods(c),
            "pgrep -of": "gpu1\n4711\n8:0\n",
            "get service mark": json.dumps({"spec": {"ports": [{"nodePort": 30000}]}}),
            "get service kubernetes": json.dumps({"spec": {"clusterIP": "10.9.0.1"}}),
            "get pods -n ava-system": self.parts(),
            CHECKPOINT: lambda n, c: self.checkpoint(n),
            "sys.argv.pop(1)": lambda n, c: self.controls(c),
        }

    def cards(self, run):
        return [card for given in run.cards.values() for card in given]

    def parts(self):
        pods = [
            {"metadata": {"name": f"{part}-1", "labels": {"part": part}}, "status": {"podIP": "10.8.0.1"}}
            for part in ("api", "operator")
        ]
        return json.dumps({"items": pods})

    def pods(self, command):
        with self.world.lock:
            runs = [r for r in self.world.runs.values() if any(r.id == w for w in _words(command))]
            items = [
                {
                    "metadata": {
                        "name": f"{r.id}-{i}",
                        "uid": f"uid-{r.id}-{i}",
                        "namespace": r.group,
                        "labels": {"ava.io/run": r.id},
                    },
                    "status": {"podIP": "10.8.1.1"},
                }
                for r in runs
                for i in r.nodes
            ]
            return json.dumps({"items": items})

    def checkpoint(self, node):
        with self.world.lock:
            entries = [
                {"PodUID": f"uid-{r.id}-{i}", "DeviceIDs": [uuid(node, c) for c in cards]}
                for r in self.world.runs.values()
                for i, cards in r.cards.items()
                if r.nodes[i] == node
            ]
        text = "".join(f"GPU UUID: \t {uuid(node, c)}\nDevice Minor: \t {c}\n" for c in range(4))
        driverless = "" if self.driver else "driverless /dev/nvidia0\n"
        return f"{json.dumps({'PodDeviceEntries': entries})}\n\n--\n{text}{driverless}"

    def controls(self, command):
        rows = unpacked(shlex.split(command)[-1])
        victim = next(r for r in self.world.runs.values() if r.program == "victim")
        return "".join(f"{line}\n" for line in self.output(victim, rows, self.everything(rows)))

    def everything(self, rows):
        return {row["id"] for row in rows} - self.void

    def log(self, run):
        """Return what an attacker's container has logged."""
        return self.output(run, unpacked(run.spec["command"][-1]), self.through)

    def output(self, run, rows, through):
        return [json.dumps(self._tried(run, row, through)) for row in rows if row["id"] not in self.untold]

    def _tried(self, run, row, through):
        node = next(iter(run.nodes.values()))
        sees = sorted(self.sees(run))
        looks = {
            "look-cards": " ".join(f"/dev/nvidia{c}" for c in sees),
            "look-listed": "".join(f"GPU {c}: V100 (UUID: {uuid(node, c)})\n" for c in sees),
            **{f"look-open-{c}": "/tmp/attacker-1" for c in self.opens(run)},
        }
        if row["id"].startswith("look-"):
            return {"id": row["id"], "open": bool(looks.get(row["id"])), "said": looks.get(row["id"], "")}
        return {"id": row["id"], "open": row["id"] in through, "said": "connected"}


def unpacked(word):
    return json.loads(zlib.decompress(base64.b85decode(word)))


def _words(command):
    return (
        command.replace("(", " ")
        .replace(")", " ")
        .replace(",", " ")
        .replace("=", " ")
        .replace("'", " ")
        .split()
    )
