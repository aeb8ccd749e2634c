"""A cache without nodes: the mount is links to under stores, the tools really run, the workers' counters are played.

The bucket is a folder, which a stand-in for boto3 writes to.
"""

import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

from acceptance_fakes import NOW, Result

from avadm_validation.measuring.targets import Bucket, CacheTarget, ObjectTarget, Target, UnderStore

MIB = 1 << 20
OWNER = ("ACCESS-OF-THE-OWNER", "SECRET-OF-THE-OWNER")
BOTO3 = """
import os

ROOT = os.environ["FAKE_BUCKETS"]


class Client:
    def put_object(self, Bucket, Key, Body):
        path = os.path.join(ROOT, Bucket, Key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as stream:
            stream.write(Body)
        os.rename(path + ".new", path)

    def delete_object(self, Bucket, Key, VersionId):
        os.unlink(os.path.join(ROOT, Bucket, Key))
        os.removedirs(os.path.dirname(os.path.join(ROOT, Bucket, Key)))

    def get_paginator(self, name):
        return self

    def paginate(self, Bucket, Prefix):
        top = os.path.join(ROOT, Bucket)
        keys = [os.path.relpath(os.path.join(at, n), top) for at, _, names in os.walk(top) for n in names]
        return [{"Versions": [{"Key": k, "VersionId": "null"} for k in sorted(keys) if k.startswith(Prefix)]}]

    def list_multipart_uploads(self, Bucket, Prefix):
        return {}


def client(kind, **options):
    return Client()
"""


class FakeCache:
    """Plays three clients, of which two are workers, and one master; each attribute is something that can be wrong."""

    def __init__(self, folder):
        self.root = Path(folder)
        self.mount, self.store = self.root / "mnt", self.root / "store"
        self.bucket = self.root / "buckets" / "sets" / "part"
        for made in (self.mount, self.store, self.bucket, self.root / "lib" / "botocore"):
            made.mkdir(parents=True)
        (self.bucket / "kept").write_text("somebody's")
        (self.mount / "cephfs").symlink_to(self.store)
        (self.mount / "s3").symlink_to(self.bucket)
        (self.root / "lib" / "boto3.py").write_text(BOTO3)
        (self.root / "lib" / "botocore" / "__init__.py").write_text("UNSIGNED = None\n")
        (self.root / "lib" / "botocore" / "config.py").write_text("Config = dict\n")
        self.led, self.caches, self.evicts, self.used = True, True, True, 0.9
        self.folders, self.silent = set(), set()
        self.spoils = self.loses = ""
        self.holds = 2 * MIB
        self.object_is_lost = self.mixes = self.immortal = False
        self.bucket_read_only, self.objects_there, self.cephfs_there = False, True, True
        self.ran, self.hits, self.misses, self.evicted, self.seen = [], 0, 0, 0, {}

    def target(self):
        address = {n: f"10.0.0.{i}" for i, n in enumerate(("c1", "c2", "c3"), 1)}
        cephfs = UnderStore("cephfs", "/cephfs", str(self.store), ("c1", "c2", "c3"))
        own = Bucket("sets", "part/", OWNER)
        bucket = UnderStore("s3", "/s3", read_only=self.bucket_read_only, bucket=own)
        stores = (cephfs, bucket) if self.cephfs_there else (bucket,)
        cache = CacheTarget(("c1",), ("c1", "c2"), ("c1", "c2", "c3"), str(self.mount), address, stores, 1.0)
        objects = ObjectTarget("https://objects.x.test:7443", "default", ("ACCESS", "SECRET-OF-THE-SUITE"))
        python = {"python": sys.executable, "ceph_python": sys.executable}
        there = objects if self.objects_there else None
        return Target("s", "p", "lab", ("c1",), "m", ("c1",), cache=cache, objects=there, **python)

    # What a fleet does.
    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.ran.append((node, command))
        rc, out = self.objects(command, stdin) if stdin else self.answer(node, command)
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
            return 0, "proc /proc proc rw 0 0\n" + (
                "" if node in self.folders else f"x {self.mount} fuse rw 0 0\n"
            )
        if "avadm-alluxio" in command and "free" in command:
            return 0, "freed\n"
        if "systemctl kill" in command:
            return (1, "") if self.immortal else (0, "killed\n")
        if "cacheread.py" in command and "mkdir" not in command:
            return self.tool(command)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def objects(self, command, stdin):
        """Let the objects suite's tool do its job, unless the object that changes is to be lost."""
        if self.object_is_lost and json.loads(stdin).get("version") == 2:
            return 0, '{"bytes": 0}'
        env = {"PYTHONPATH": str(self.root / "lib"), "FAKE_BUCKETS": str(self.root / "buckets")}
        done = subprocess.run(
            ["sh", "-c", command],
            input=stdin.decode(),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | env,
        )
        return done.returncode, done.stdout

    def tool(self, command):
        words = command.split()
        verb = next(w for i, w in enumerate(words) if words[i - 1].endswith("cacheread.py"))
        folder = Path(words[words.index("--dir") + 1])
        name = f"{verb}-{folder.name}"
        if verb == "read":
            self.count(folder)
        kept = self.plant(name, folder, verb)
        # As it was put on the node, but without a process of its own: a check starts some dozen.
        program = next(i for i, w in enumerate(words) if w.endswith("cacheread.py"))
        out = io.StringIO()
        runpy.run_path(words[program])["main"](words[program + 1 :], out)
        for path, content in kept:
            path.write_bytes(content)
        return 0, out.getvalue()

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
        self.seen.pop(folder, None)
        self.seen[folder] = sum(f.stat().st_size for f in folder.glob("f*"))
        while sum(self.seen.values()) > self.holds:
            self.seen.pop(next(iter(self.seen)))
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
