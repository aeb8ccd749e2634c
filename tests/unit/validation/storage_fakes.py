"""A ceph cluster without nodes: what the storage suite's tools would print on three clients, from raw numbers that never wait."""

import json
import re
import shlex

from acceptance_fakes import Result

from avadm_validation.measuring.targets import Target

CLIENTS = ("c1", "c2", "c3")
TICK_S = 0.1
CROWD = 50
MIB = 1 << 20
FIO = re.compile(r"--name=(\S+)")
MDS = {"filesystems": [{"mdsmap": {"info": {"a": {"rank": 0, "state": "up:active", "name": "m"}}}}]}
IMAGE = "/fs/files"
"""How the folder ends that lies in an image's file system."""


class FakeStorage:
    """A good cluster; its attributes are what faults change.

    Operations are filegen's (create, read, stat), ``image`` for reads of a block image; of those that fail ``fsync`` are
    creates with it, ``window`` others that are timed, ``create`` those of so many files.

    Attributes:
        stuck: operations of which in each window one client completes one and the others none.
        crowded: operations in which each of several clients at once is slower by ``CROWD`` than one alone.
        delayed: operations whose requests then take a hundred times as long.
        starved: operations of which the last client does one where each other does a hundred.
        failing: operation to how many of the first client's fail.
        short: operation to how many fewer the first client does than it should, without an error.
        latency_us: how long an operation takes, microseconds.
        hidden: entries that readdir does not show.
        fragments: of the directory.
        bends: whether the last files of a growth series take ten times the space.
        fio: what fio says of a side.
        hold, during, after: what is stated of the lock of an image.
    """

    def __init__(self):
        self.stuck, self.crowded, self.delayed, self.starved = set(), set(), set(), set()
        self.failing, self.short, self.latency_us = {}, {}, {}
        self.hidden, self.fragments, self.bends = 0, 2, False
        latency = {"clat_ns": {"percentile": {"99.000000": 5_000_000}}, "runtime": 500}
        self.fio = {side: {"iops": 1000.0, "bw_bytes": 100 * MIB, **latency} for side in ("read", "write")}
        self.hold = {"lock": "got", "mark": "kept"}
        self.during = {"lock": "EROFS", "write": "blocked"}
        self.after = {"lock": "got", "write": "done"}
        self.made, self.let_go = {}, False

    def target(self):
        return Target("s", "p", "lab", CLIENTS, "m", ("m", *CLIENTS), mds=("m",))

    def run(self, node, command, *, timeout=60.0, stdin=None):
        return Result(node, command, stdout=self.answer(node, command, 1))

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: Result(n, c, stdout=self.answer(n, c, len(commands))) for n, c in commands.items()}

    def answer(self, node, command, at_once):
        """Return what a command prints."""
        for script, act in (
            ("filegen.py", self.filegen),
            ("rbdread.py", self.rbdread),
            ("rbdlock.py", self.rbdlock),
        ):
            if script in command:
                words = shlex.split(command.partition(script)[2])
                return json.dumps(act(node, words[0], options(words), at_once)) + "\n"
        if "fio " in command:
            return json.dumps(
                {"jobs": [{"jobname": n, "error": 0, **self.fio} for n in FIO.findall(command)]}
            )
        self.let_go = self.let_go or command.startswith("touch ")
        answers = {
            "ceph fs dump": json.dumps(MDS),
            "dirfrag ls": json.dumps([{"value": i} for i in range(self.fragments)]),
            "modprobe rbd": "krbd\n",
            "truncate": "known\n",
            " map ": "/dev/rbd0\n",
            "stat -f": json.dumps(self.usage()),
            "dumpe2fs": "Inode count:  536870912\nFilesystem features:  dir_index large_dir\n",
        }
        return next((text for part, text in answers.items() if part in command), "")

    def usage(self):
        files = sum(n for folder, n in self.made.items() if folder.endswith(IMAGE))
        used = 2 * files * (10 if self.bends and files > 500 else 1)
        return {"blocks_free": 500_000_000 - used, "block": 4096, "inodes": 536870912, "inodes_free": 5e8}

    def filegen(self, node, op, given, at_once):
        if op == "count":
            folder = given["dir"].rpartition("/")[0]
            return {"tool": "filegen", "distinct": self.made[folder] - self.hidden, "seconds": 0.1}
        procs, warmup = int(given["procs"]), float(given.get("warmup", 0))
        if "duration" in given:
            lengths = [float(given["duration"])] * int(given["repeat"])
            lengths += [float(given["extra"])] if "extra" in given else []
            found = [
                {**self.timed(op, node, at_once, i, s, warmup, procs), "extra": i >= int(given["repeat"])}
                for i, s in enumerate(lengths)
            ]
        else:
            files = min(int(n) for n in [given["files"], *given.get("counts", given["files"]).split(",")])
            found = [self.counted(op, node, files, procs)]
            if op == "create":
                self.made[given["dir"]] = self.made.get(given["dir"], 0) + sum(found[0]["made"])
        first = found[0]
        timed = op == "create" and "duration" in given
        failed = self.failing.get("fsync" if "fsync" in given else "window" if timed else op, 0)
        if node == CLIENTS[0] and failed:
            first["error_count"] = failed
            first["made"][0] -= failed
        return {"tool": "filegen", "op": op, "client": node, "size": int(given["size"]), "repetitions": found}

    def timed(self, op, node, at_once, repetition, seconds, warmup, procs, each=100):
        """Return a client's window of some seconds, in which it does ``each`` in a tick."""
        n = each + repetition % 2
        if op in self.crowded and at_once > 1:
            n //= CROWD
        if op in self.starved and node == CLIENTS[-1]:
            n //= each
        ticks = [n] * round(seconds / TICK_S)
        if op in self.stuck:
            ticks = [0] * (len(ticks) - 1) + [int(node == CLIENTS[0])]
        late = 100 if op in self.delayed and at_once > 1 else 1
        whole = self.window(op, sum(ticks), [sum(ticks) // procs] * procs, late)
        return {**whole, "warmup_s": warmup, "duration_s": seconds, "end_s": seconds, "ticks": ticks}

    def counted(self, op, node, files, procs):
        """Return one window without an end of its own: so many files of each process."""
        done = files - (self.short.get(op, 0) if node == CLIENTS[0] else 0)
        whole = self.window(op, done * procs, [done] * procs, 1)
        return {**whole, "warmup_s": 0.0, "duration_s": 0.0, "end_s": 1.0, "ticks": [done * procs]}

    def window(self, op, done, made, late):
        took = str(self.latency_us.get(op, 1000) * late)
        return {
            "start": 0.0,
            "tick_s": TICK_S,
            "made": made,
            "latency_us": {took: done} if done else {},
            "errors": [],
            "error_count": 0,
        }

    def rbdread(self, node, op, given, at_once):
        refused = dict.fromkeys(("write", "discard", "resize"), "EROFS")
        found = []
        if "snap" in given and "try-write" not in given:
            warmup, n = float(given["warmup"]), int(given["repeat"])
            seconds = warmup + float(given["duration"])
            found = [self.timed("image", node, at_once, i, seconds, warmup, 1, MIB) for i in range(n)]
        return {"repetitions": found, "write": refused if "try-write" in given else None}

    def rbdlock(self, node, op, given, at_once):
        return self.hold if op == "hold" else self.after if self.let_go else self.during


def options(words):
    """Return a command line's options by name; one without a value has ""."""
    pairs = zip(words, [*words[1:], "--"], strict=True)
    return {a[2:]: "" if b.startswith("--") else b for a, b in pairs if a.startswith("--")}
