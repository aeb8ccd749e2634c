"""Has artifacts in the cache: built or fetched where they are missing, several at once, each under its own lock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from avadm.artifacts import glibc_check, proxy, upstream
from avadm.artifacts.builder import Builder
from avadm.artifacts.commands import LocalCommands
from avadm.artifacts.manifest import Artifact, named
from avadm.artifacts.store import ArtifactState, ArtifactStore, Record, keep
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding

Source = Literal["build", "upstream"]
Tell = Callable[[str, str], None]
"""Called with the artifact and the current step."""


@dataclass
class ArtifactProvider:
    """Makes artifacts.

    Attributes:
        store: the cache.
        source: how they are had.
        tell: called with what is done.
        commands: runs programs.
        checksums: sha256 by address, for what is fetched.
        again: whether what is there is recreated.
        environment: variables of all programs, such as those of a proxy; what is fetched comes by that proxy too.
    """

    store: ArtifactStore
    source: Source
    tell: Tell
    commands: LocalCommands = field(default_factory=LocalCommands)
    checksums: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: proxy.environment(os.environ, {}))

    def make(self, artifacts: Sequence[Artifact], jobs: int) -> tuple[list[Record], list[Finding]]:
        """Have all artifacts in the cache, ``jobs`` at once; return those that were made, and what went wrong."""
        made: list[Record] = []
        findings: list[Finding] = []
        with ThreadPoolExecutor(jobs) as pool:
            running: set[Future[Record | None]] = {pool.submit(self.one, a) for a in artifacts}
            try:
                while running:
                    # In slices, since a wait without end keeps ctrl-C from being seen in some cases.
                    ended, running = wait(running, timeout=1, return_when=FIRST_COMPLETED)
                    for future in ended:
                        try:
                            record = future.result()
                        except AvadmError as error:
                            findings += [f for f in error.findings if f not in findings]
                        else:
                            made += [record] if record else []
            except BaseException:
                for future in running:
                    future.cancel()
                self.commands.stop()
                raise
        return made, findings

    def one(self, artifact: Artifact) -> Record | None:
        """Have one artifact in the cache; return its record where it had to be made.

        Raises:
            AvadmError: it is not available, or the cache cannot be written.
        """
        if self.source == "build" and artifact.needs:
            self.tell(artifact.label, f"waiting for {', '.join(artifact.needs)}")
        for needed in named(artifact.needs) if self.source == "build" else ():
            self.one(needed)
        try:
            with self.store.locked(
                artifact, lambda: self.tell(artifact.label, "another avadm builds it: waiting")
            ):
                if not self.again and self._there(artifact):
                    self.tell(artifact.label, "there already")
                    return None
                try:
                    return self._make(artifact)
                except AvadmError as error:
                    self.tell(artifact.label, f"failed: {error.findings[0].what}")
                    raise
        except OSError as error:
            where = str(error.filename or self.store.root)
            found = error.strerror or str(error)
            raise AvadmError.of("artifact-cache", where=where, found=found, name=artifact.name) from error

    def _there(self, artifact: Artifact) -> bool:
        record = self.store.record(artifact)
        if self.store.state(artifact, deep=True) is not ArtifactState.PRESENT or record is None:
            return False
        # A build replaces what was fetched, which has no patches.
        return record.source == self.source

    def _make(self, artifact: Artifact) -> Record:
        begun = time.monotonic()
        digest = artifact.digest() if self.source == "build" else ""
        log = self.store.log(artifact)
        log.unlink(missing_ok=True)
        with self.store.work(artifact) as work:
            out, space = work / "out", work / "work"
            out.mkdir()
            space.mkdir()

            def tell(text: str) -> None:
                self.tell(artifact.label, text)

            toolchain = ""
            if self.source == "build":
                others = {a.name: self.store.folder(a) for a in named(artifact.needs)}
                toolchain = Builder(
                    artifact, self.commands, space, out, log, tell, others, self.environment
                ).build()
            else:
                opener = upstream.through(self.environment)
                upstream.fetch(artifact, self.checksums, out, tell, opener)
            tell("look at what it links to")
            if wrong := glibc_check.too_new(artifact.name, out):
                raise AvadmError(wrong)
            tell("ask its version")
            record = Record(
                name=artifact.name,
                version=artifact.version,
                source=self.source,
                recipe=digest,
                toolchain=toolchain,
                made=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                seconds=round(time.monotonic() - begun, 1),
                files=keep(out, self._reported(artifact, out, log)),
            )
            self.store.put(artifact, out, record)
            if artifact.sources:
                self.store.prune(artifact)
        self.tell(artifact.label, "done")
        return record

    def _reported(self, artifact: Artifact, out: Path, log: Path) -> dict[str, str]:
        """Return what each program says of its version; AvadmError where one is missing or says something else."""
        reply, findings = {}, []
        for name, wanted in artifact.files.items():
            if not (out / name).is_file():
                findings.append(_not(artifact, name, "is not there", "", "a file"))
            elif wanted.says:
                done = self.commands.run((str(out / name), *wanted.ask), cwd=out, env={}, log=log)
                answer = [
                    line for line in (*done.stdout.splitlines(), *done.stderr_lines) if wanted.says in line
                ]
                if not answer:
                    found = (
                        " / ".join((*done.stdout.splitlines()[:3], *done.stderr_lines[:3]))
                        or f"exit status {done.rc}"
                    )
                    findings.append(_not(artifact, name, "does not say its version", found, wanted.says))
                else:
                    reply[name] = answer[0].strip()
        if findings:
            raise AvadmError(findings)
        return reply


def _not(artifact: Artifact, name: str, what: str, found: str, wanted: str) -> Finding:
    return finding(
        "artifact-version", where=name, found=found, wanted=wanted, name=artifact.name, name2=name, what=what
    )
