"""PostgreSQL's nodes, asked about backups: `avadm-database` of avadm_node/agents/database runs there and answers JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.components.database_backup import component as backups
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.remote import access
from avadm.remote.fleet import Fleet, Result
from avadm.site.model import Site

PROGRAM = "/usr/local/sbin/avadm-database"
ASK_S, WORK_S = 180.0, 13 * 3600.0
"""Seconds of a question, and of a backup or a restore."""


@dataclass(frozen=True, slots=True)
class DatabaseNodes:
    """The nodes whose PostgreSQL is backed up.

    Attributes:
        fleet: ssh to them.
        site: the site.
    """

    fleet: Fleet
    site: Site

    def names(self) -> list[str]:
        """Return their names; AvadmError on a site without backups."""
        found = [n.name for n in backups.nodes(self.site)]
        if found:
            return found
        raise AvadmError.of(
            "no-backups-restore",
            where="components.database",
            found="no object store and no folder for them"
            if self.site.components.database
            else "no database",
            wanted="components.object_store, or components.database.backup.directory",
        )

    def ask(self, node: str, *words: str, timeout: float = ASK_S) -> dict[str, Any]:
        """Run one command of the program on a node and return what it tells.

        Raises:
            AvadmError: the node cannot be reached, or the command was not done; with its own words.
        """
        return parse_output(self.fleet.run(node, shlex.join([PROGRAM, *words]), timeout=timeout))

    def each(self, words: Mapping[str, Sequence[str]], timeout: float = ASK_S) -> dict[str, dict[str, Any]]:
        """As `ask`, on several nodes at once: node to its command; AvadmError with all that went wrong."""
        came = self.fleet.map({n: shlex.join([PROGRAM, *w]) for n, w in words.items()}, timeout=timeout)
        findings: list[Finding] = []
        found = {}
        for node, result in came.items():
            try:
                found[node] = parse_output(result)
            except AvadmError as error:
                findings += error.findings
        if findings:
            raise AvadmError(findings)
        return found

    def any(self, *words: str) -> dict[str, Any]:
        """As `ask`, of the first node that answers."""
        findings: list[Finding] = []
        for node in self.names():
            try:
                return self.ask(node, *words)
            except AvadmError as error:
                findings += error.findings
        raise AvadmError(findings)

    def roles(self) -> dict[str, str]:
        """Return each node's role: primary, standby, or "" where its Patroni tells none; AvadmError where one is silent."""
        answers = self.each({n: ["restore", "role"] for n in self.names()})
        return {name: str(answer["role"]) for name, answer in answers.items()}

    def with_role(self, role: str) -> str:
        """Return the node that has a role; AvadmError where none has."""
        roles = self.roles()
        for name, found in roles.items():
            if found == role:
                return name
        raise AvadmError.of(
            "no-member",
            found=", ".join(f"{n}: {r or 'does not run'}" for n, r in roles.items()),
            wanted=f"one {role}",
            role=role,
        )


def parse_output(result: Result) -> dict[str, Any]:
    """Return what a command reported; AvadmError where it could not be asked, or says that it did not do it."""
    if result.error is not None:
        raise AvadmError(access.finding("database-node", result.node, result.error))
    lines = [line for line in result.stdout.split("\n") if line.startswith("{")]
    # 1: it was done, and found something bad.
    if result.rc in (0, 1) and lines:
        found = json.loads(lines[-1])
        if isinstance(found, dict):
            return found
    if result.rc == 0:
        return {}
    text = result.stderr.strip().rpartition("avadm-database: ")[2] or f"exit status {result.rc}"
    what, _, remedy = text.partition(" Remedy: ")
    raise AvadmError(
        finding(
            "database-backup",
            where=result.command.removeprefix(f"{PROGRAM} "),
            found=what,
            host=result.node,
            remedy=remedy[:1].upper() + remedy[1:]
            if remedy
            else "See `avadm doctor --only database,objects`.",
        ),
        exit_code=EXIT_FOUND_BAD if result.rc == 1 else EXIT_COULD_NOT_RUN,
    )
