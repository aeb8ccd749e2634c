"""The object store as the checks use it: the tool on clients, with its job through standard input."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.targets import ObjectTarget
from avadm_validation.protocol.fleet import Result
from avadm_validation.suites.objects import users

TOOL, PARTS = "s3client.py", ("s3client.py", "s3common.py", "s3load.py")
"""What is run on clients, and the files that it consists of."""
SETTINGS = {
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
"""Settings that AWS' libraries since boto3 1.36 need: gateways of these releases refuse a body whose length is not reported."""


class S3Client:
    """One check's way to the store.

    Args:
        ctx: the check's view of the run.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.target: ObjectTarget = users.target(ctx)

    @property
    def bucket(self) -> str:
        """Name of this check's bucket: at most 63 characters, ours by its beginning."""
        return f"{self.ctx.name}-{self.ctx.rec.check.lower()}"

    def job(self, **more: Any) -> bytes:
        """Return a job for the tool; it holds keys, so that it goes through standard input and nowhere else."""
        own = {
            "endpoint": self.target.endpoint,
            "region": self.target.region,
            "ca": self.target.ca,
            "keys": list(self.target.keys),
            "bucket": self.bucket,
        }
        return json.dumps({**own, **more}).encode()

    def line(self, verb: str) -> str:
        """Return the command line of a verb on a client."""
        line = [self.ctx.target.ceph_python, f"{self.ctx.tools}/{TOOL}", verb]
        return f"{self.ctx.noted} exec {' '.join(map(shlex.quote, line))}"

    def ask(self, verb: str, timeout: float, client: str = "", **more: Any) -> str:
        """Run a verb on a client (the first one); return its raw file; MeasureError where it fails."""
        return self.all(verb, timeout, {client or self.ctx.target.clients[0]: more})[0]

    def all(self, verb: str, timeout: float, jobs: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Run a verb on several clients at once, each with its own job; return their raw files in order.

        MeasureError where one fails.
        """
        return [self.ctx.rec.last(self.ctx.must(result).node) for result in self.tried(verb, timeout, jobs)]

    def tried(self, verb: str, timeout: float, jobs: Mapping[str, Mapping[str, Any]]) -> list[Result]:
        """Do the same and keep what they print, whether they fail or not; return the results in order."""
        fleet, line = self.ctx.rec.fleet, self.line(verb)
        with ThreadPoolExecutor(len(jobs)) as pool:
            done = list(
                pool.map(
                    lambda one: fleet.run(one[0], line, timeout=timeout, stdin=self.job(**one[1])),
                    jobs.items(),
                )
            )
        for result in done:
            self.ctx.rec.keep(result, verb)
        return done

    def install(self, nodes: Sequence[str] = ()) -> None:
        """Put the tool on the clients, or those of them that are named."""
        for client in nodes or self.ctx.target.clients:
            self.ctx.has_tools(client)
            self.ctx.must(self.ctx.rec.fleet.run(client, self.ctx.private))
            for name in PARTS:
                source = (files("avadm_validation") / "tools" / name).read_bytes()
                self.ctx.must(self.ctx.rec.fleet.put(client, source, f"{self.ctx.tools}/{name}", mode=0o755))

    def sweep(self, timeout: float) -> list[str]:
        """Remove every bucket of acceptance runs; return what stayed, in sentences. Nothing is raised."""
        if not self.target.keys[0]:
            return []  # this run has no user yet; what an earlier one's had goes with the user
        more = [list(self.target.limited)] if self.target.limited else []
        client = self.ctx.target.clients[0]
        done = self.ctx.rec.fleet.run(
            client, self.line("sweep"), timeout=timeout, stdin=self.job(more_keys=more)
        )
        self.ctx.rec.keep(done, "sweep")
        if done.rc or done.error:
            return [f"{client}: buckets may have stayed: {done.error or done.stderr.strip()}"]
        return [f"{text} could not be removed" for text in json.loads(done.stdout)["stayed"]]
