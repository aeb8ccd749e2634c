"""The cache as the checks use it: files made in an under store, read through the mount, counters of workers."""

from __future__ import annotations

import math
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.resources import files

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.extract import compute
from avadm_validation.measuring.targets import CacheTarget, UnderStore
from avadm_validation.suites.alluxio import bucket
from avadm_validation.suites.alluxio.extract import total

TOOL = "cacheread.py"
SWEEP = "rm -rf --one-file-system {folders}; ls -d {folders} 2>/dev/null; true"


class Cache:
    """One check's way to the cache.

    Args:
        ctx: the check's view of the run.
    """

    def __init__(self, ctx: Context) -> None:
        if ctx.target.cache is None:
            raise MeasureError("the site has no cache")
        self.ctx = ctx
        self.target: CacheTarget = ctx.target.cache
        self.killed: list[str] = []

    @property
    def reader(self) -> str:
        """The client that reads: one without a worker, where there is one, so that counters see every read."""
        alone = [c for c in self.target.clients if c not in self.target.workers]
        return (alone or list(self.target.clients))[0]

    def writer(self, store: UnderStore) -> str:
        """Return the node that writes straight to an under store: a client of it, not the reader where that can be."""
        return next((c for c in reversed(store.writers) if c != self.reader), self.reader)

    def folder(self, store: UnderStore, name: str) -> str:
        """Return where files are made: in the under store itself, or through the mount where no node can write to it."""
        base = store.folder or f"{self.target.mount}{store.path}"
        return f"{base}/{self.ctx.name}/{self.ctx.rec.check}/{name}"

    def seen(self, store: UnderStore, name: str) -> str:
        """Return where clients see the same files."""
        return f"{self.target.mount}{store.path}/{self.ctx.name}/{self.ctx.rec.check}/{name}"

    @property
    def seed(self) -> str:
        """What every byte that the run writes follows from, beside the file's name."""
        return f"{self.ctx.run}-{self.ctx.seed}"

    def tool(self, command: str, folder: str, size: int, count: int, **options: str | float) -> str:
        """Return the command line of the tool."""
        return self.ctx.tool(
            TOOL, command, "--dir", folder, seed=self.seed, size=size, count=count, **options
        )

    def put(self, nodes: Sequence[str]) -> None:
        """Put the tool on nodes that have not got it in this run."""
        have = self.ctx.shared.setdefault("cache tools", set())
        for node in sorted(set(nodes) - have):
            self.ctx.has_tools(node)
            self.ctx.must(self.ctx.rec.run(node, f"{{ {self.ctx.private}; }} && echo made", "tools"))
            text = (files("avadm_validation") / "tools" / TOOL).read_bytes()
            self.ctx.must(self.ctx.rec.fleet.put(node, text, f"{self.ctx.tools}/{TOOL}", mode=0o755))
            have.add(node)

    def run(self, node: str, command: str, name: str, timeout: float | None = None) -> str:
        """Run a command; return its raw file; MeasureError where it fails or prints nothing."""
        self.put([node])
        limit = timeout or float(self.ctx.params["timeout_s"])
        done = self.ctx.must(self.ctx.rec.run(node, command, name, timeout=limit))
        if not done.stdout:
            raise MeasureError(f"{node}: {name} printed nothing")
        return self.ctx.rec.last(node)

    def make(self, store: UnderStore, folders: Mapping[str, tuple[int, int]]) -> None:
        """Write folders of files to an under store, and let the cache forget what was written through it.

        Args:
            store: the under store.
            folders: name of each folder to size and number of its files.
        """
        node = self.writer(store) if store.folder else self.reader
        for name, (size, count) in folders.items():
            self.run(node, self.tool("make", self.folder(store, name), size, count), f"make-{name}")
        if not store.folder:
            # All of the check's files at once: each call starts a Java.
            path = self.seen(store, "").removeprefix(self.target.mount).rstrip("/")
            self.run(self.target.masters[0], f"avadm-alluxio fs free {shlex.quote(path)}", "free")
            # Workers hear of it a heartbeat later, and would take away again what was read and cached until then.
            self.settle()

    def behind(self, store: UnderStore) -> str:
        """Return the node that can write to an under store behind the cache's back, "" where none can."""
        if store.folder:
            return self.writer(store)
        return bucket.writer(self.ctx) if store.bucket else ""

    def replace(self, store: UnderStore, name: str, size: int, version: int) -> None:
        """Write one file behind the cache's back, so that anyone who reads it there has all of one version."""
        node = self.behind(store)
        if store.bucket:
            self.put([node])
            self.ctx.shared.setdefault("cache buckets", set()).add(store.path)
            folder = f"{self.ctx.name}/{self.ctx.rec.check}/{name}"
            bucket.put(self.ctx, store.bucket, folder, size, version, self.seed)
        else:
            line = self.tool("make", self.folder(store, name), size, 1, version=version, rename=1)
            self.run(node, line, f"replace-{name}")

    def read(
        self,
        store: UnderStore,
        name: str,
        size: int,
        count: int,
        timeout: float | None = None,
        **options: str | float,
    ) -> str:
        """Read files through the mount; return the raw file."""
        line = self.tool("read", self.seen(store, name), size, count, **options)
        return self.run(self.reader, line, f"read-{name}", timeout)

    def pages(self, nodes: Sequence[str], port: int, name: str) -> list[str]:
        """Return the raw files of the metrics' pages of those nodes that answer."""
        address = self.target.addresses
        url = {n: f"http://{address[n]}:{port}/metrics/prometheus/" for n in nodes}
        get = "curl --silent --fail --max-time 10 --noproxy '*' "
        done = self.ctx.rec.map({n: get + u for n, u in url.items()}, name, timeout=30)
        return [self.ctx.rec.last(n) for n in nodes if done[n].rc == 0 and done[n].stdout]

    def workers(self, name: str) -> list[str]:
        """Return the raw files of all workers' metrics."""
        return self.pages(self.target.workers, self.target.worker_port, name)

    def capacity(self, pages: Sequence[str]) -> float:
        """Return the bytes that all workers hold together, by the raw files of their metrics."""
        return compute("cache_capacity", {"before": [], "after": [self.ctx.read(path) for path in pages]}, {})

    def lose(self, node: str, unit: str, after_s: float) -> threading.Timer:
        """Kill a unit of a node in some seconds, as a crash does; systemd starts it again after three."""
        command = f"systemctl kill -s KILL {unit} && echo killed"

        def kill() -> None:
            done = self.ctx.rec.fleet.run(node, command, timeout=30)
            self.killed += [node] if done.rc == 0 and not done.error else []

        timer = threading.Timer(after_s, kill)
        timer.start()
        return timer

    def settle(self) -> None:
        """Wait for what workers cache in the background after a read: they have it when a client has long closed it."""
        time.sleep(float(self.ctx.params["settle_s"]))

    def holder(self) -> str:
        """Return the worker that holds most."""
        pages = {n: self.pages([n], self.target.worker_port, "holder") for n in self.target.workers}
        used = {
            n: total([self.ctx.read(p) for p in paths], ("Worker_CapacityUsed",))
            for n, paths in pages.items()
        }
        there = {n: value for n, value in used.items() if not math.isnan(value)}
        if not there:
            raise MeasureError("no worker of the cache answers")
        return max(there, key=lambda n: there[n])

    def leader(self) -> str:
        """Return the master that leads: the one that knows how many workers there are."""
        for node in self.target.masters:
            pages = [self.ctx.read(p) for p in self.pages([node], self.target.master_port, "leader")]
            if total(pages, ("Cluster_Workers",)) > 0:
                return node
        raise MeasureError("no master of the cache leads")

    def sweep(self) -> list[str]:
        """Remove all that the run made, and what a killed one left; return what stayed."""
        left: list[str] = []
        for store in self.target.stores:
            base = store.folder or f"{self.target.mount}{store.path}"
            node = self.writer(store) if store.folder else self.reader
            if store.folder or not store.read_only:
                line = SWEEP.format(folders=f"{base}/{bucket.LEFT}*")
                done = self.ctx.rec.fleet.run(node, line, timeout=600)
                left += [f"{node}: {text} could not be taken away" for text in done.stdout.splitlines()]
            # What the mount does not show, or may not remove.
            if store.bucket and store.path in self.ctx.shared.get("cache buckets", ()):
                left += bucket.clear(self.ctx, store.bucket)
        return left
