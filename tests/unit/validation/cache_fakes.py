"""A cache without nodes: the mount is a link to the under store, the tool really runs, the workers' counters are played."""

import subprocess
import sys
from pathlib import Path

from acceptance_fakes import NOW, Result

from avadm_validation.suites.alluxio.target import CacheTarget, Store
from avadm_validation.suites.storage.context import Target

MIB = 1 << 20


class FakeCache:
    """Plays three clients, of which two are workers, and one master; each attribute is something that can be wrong."""

    def __init__(self, folder):
        self.root = Path(folder)
        self.mount, self.store = self.root / "mnt", self.root / "store"
        self.mount.mkdir(parents=True)
        self.store.mkdir()
        (self.mount / "cephfs").symlink_to(self.store)
        self.led, self.caches, self.evicts, self.used = True, True, True, 0.9
        self.folders, self.others, self.silent = set(), set(), set()
        self.spoils = self.loses = ""
        self.change_is_lost = self.mixes = self.immortal = False
        self.ran, self.hits, self.misses, self.evicted, self.seen = [], 0, 0, 0, set()

    def target(self):
        address = {n: f"10.0.0.{i}" for i, n in enumerate(("c1", "c2", "c3"), 1)}
        store = Store("cephfs", "/cephfs", str(self.store), ("c1", "c2", "c3"))
        cache = CacheTarget(
            ("c1",), ("c1", "c2"), ("c1", "c2", "c3"), str(self.mount), address, (store,), 1.0
        )
        return Target("s", "p", "lab", ("c1",), "m", ("c1",), python=sys.executable, cache=cache)

    # What a fleet does.
    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.ran.append((node, command))
        rc, out = self.answer(node, command)
        return Result(node, command, rc=rc, stdout=out, started=NOW)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout) for n, c in commands.items()}

    def put(self, node, content, path, *, mode=0o644):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
        return Result(node, f"put {path}")

    def answer(self, node, command):
        if "curl" in command:
            return (
                (0, self.page(node, ":19999/" in command)) if node not in self.silent else (0, "# nothing\n")
            )
        if command == "cat /proc/mounts":
            kind = {True: "fuse.ceph-fuse"}.get(node in self.others, "fuse")
            return 0, "proc /proc proc rw 0 0\n" + (
                "" if node in self.folders else f"x {self.mount} {kind} rw 0 0\n"
            )
        if "systemctl kill" in command:
            return (1, "") if self.immortal else (0, "killed\n")
        if "cacheread.py" in command and "mkdir" not in command:
            return self.tool(command)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def tool(self, command):
        words = command.split()
        verb = next(w for i, w in enumerate(words) if words[i - 1].endswith("cacheread.py"))
        folder = Path(words[words.index("--dir") + 1])
        name = f"{verb}-{folder.name}"
        if verb == "make" and "--version 2" in command and self.change_is_lost:
            return 0, '{"made": 1}'
        if verb == "read":
            self.count(folder)
        kept = self.plant(name, folder, verb)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        for path, content in kept:
            path.write_bytes(content)
        return done.returncode, done.stdout

    def plant(self, name, folder, verb):
        """Spoil or remove the first file for one reading; return what to put back."""
        first = folder / "f000000"
        if name not in (self.spoils, self.loses) and not (verb == "wait" and self.mixes):
            return []
        content = first.read_bytes()
        if name == self.loses:
            first.unlink()
        else:
            first.write_bytes(bytes([content[0] ^ 255]) + content[1:])
        return [(first, content)]

    def count(self, folder):
        files = len(list(folder.glob("f*")))
        if folder in self.seen and self.caches:
            self.hits += files
        else:
            self.misses += files
        self.seen.add(folder)
        self.evicted += files if self.evicts and folder.name == "fill" else 0

    def page(self, node, master):
        if master:
            return f"Cluster_Workers {2.0 if self.led else 0.0}\n" if self.led else "Master_Files 1.0\n"
        half = node == "c1"
        numbers = {
            "Worker_CapacityTotal": 2.0 * MIB,
            "Worker_CapacityUsed": self.used * 2 * MIB,
            "Worker_BlocksReadUfs": float(self.misses * half),
            "Worker_BlocksReadLocal": float(self.hits * half),
            "Worker_BlocksEvicted": float(self.evicted * half),
        }
        return "# HELP x\n" + "".join(f"{k} {v}\n" for k, v in numbers.items())

    def __getattr__(self, name):
        raise AttributeError(name)


def clean(path):
    """Whether nothing of a run is below a folder."""
    return not list(Path(path).glob("avadm-accept*"))
