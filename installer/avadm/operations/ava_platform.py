"""AVA as its upgrade works on it: images and versions, what its processes report, its database, manifests that are kept."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from avadm.artifacts import requirements
from avadm.artifacts.manifest import manifest
from avadm.artifacts.store import ArtifactStore
from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.components.addons.variables import REGISTRY_PORT
from avadm.components.ava.component import (
    COMPONENT,
    DATABASE,
    INTERNAL,
    PARTS,
    doors,
    mount,
    probed,
)
from avadm.engine.request import Request
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.database_members import DatabaseMembers
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.plan.graph import make_plan
from avadm.quantity import quantity
from avadm.remote.call import Function, ask, mapping
from avadm.site.load import SiteFile
from avadm.state.site_state import PhaseState
from avadm_node.probes.ava import database as dumps
from avadm_node.probes.ava import manifests, processes

T = TypeVar("T")
PHASE, IMAGE, REPOSITORY = "ava", "ava-image", "avadm/ava"
CODE = "ava-command"
ALL_S, ASK_S, DUMP_S = 60.0, 180.0, 3600.0
SKEW_S = 300.0
"""Seconds by which a node's clock may be behind the controller's."""
LEASE = "ava-"
"""What stands before a part's name in that of its lease."""
JUMP = "jump"
"""The ssh gateway: programs of OpenSSH, which report nothing by HTTP."""
ACTS = {"operator": "ava_operator_leader", "scheduler": "ava_scheduler_leads"}
"""Part to the metric that is 1 where the process acts; of each one does."""
LOOPS = {"operator": "ava_operator_passes_total", "scheduler": "ava_scheduler_admission_seconds_count"}
"""Part to the metric that grows with each pass of its loop."""


@dataclass(frozen=True, slots=True)
class Release:
    """A version of AVA.

    Attributes:
        tag: of its image in the site's registry; ends in 12 digits of the image's id.
        version: as its processes report it; "" where that is not known.
    """

    tag: str
    version: str = ""

    @property
    def number(self) -> str:
        """The version without what follows the first hyphen, as profiles have it."""
        return self.tag.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of AVA and what its process reports.

    Attributes:
        name: the pod's name.
        part: its deployment.
        tag: of its image.
        ready: whether it is Ready.
        ending: whether it is being removed.
        version: as the process reports it; "" where it reports none.
        figures: metric to its value.
        why: why the process could not be asked; "" where it was.
    """

    name: str
    part: str
    tag: str
    ready: bool
    ending: bool
    version: str
    figures: Mapping[str, float]
    why: str


@dataclass(frozen=True, slots=True)
class Seen:
    """AVA as it runs.

    Attributes:
        deployed: deployment to the tag of its image.
        wanted: deployment to how many pods it is to have.
        pods: all pods.
        leases: lease to why no process holds it, or to "" where one renews it.
        way: why users do not get in; "" where they do.
    """

    deployed: Mapping[str, str]
    wanted: Mapping[str, int]
    pods: Sequence[Pod]
    leases: Mapping[str, str]
    way: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """AVA's database.

    Attributes:
        node: the primary's.
        revision: of its tables.
        size: bytes.
        free: bytes on the file system on which a dump would be.
    """

    node: str
    revision: str
    size: int
    free: int


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests on a master.

    Attributes:
        written: tag of those that were written last; "" for none, or several.
        kept: tags of those that are kept, the last one first.
    """

    written: str
    kept: Sequence[str]


@dataclass(frozen=True, slots=True)
class AvaPlatform:
    """AVA of a site.

    Attributes:
        cluster: the site.
        store: the cache of artifacts.
    """

    cluster: Cluster
    store: ArtifactStore = field(default_factory=ArtifactStore.default)

    @property
    def parts(self) -> list[str]:
        """The deployments that the site is to have."""
        site = self.cluster.site
        return [*PARTS, *(["storage"] if mount(site) else []), *doors(site)]

    def missing(self) -> list[Finding]:
        """Return the artifacts of AVA that the cache has not, or not whole."""
        file = self.cluster.site_file
        lacking = requirements.missing(
            file.site, [COMPONENT.phase], self.store, deep=False, versions=file.profile.versions
        )
        return [one.finding() for one in lacking]

    def newest(self) -> Release | None:
        """Return the version of this avadm; None where its image is not built."""
        record = self.store.record(manifest()[IMAGE])
        if record is None:
            return None
        digest = record.files["image.tar"].image_id.partition(":")[2][:12]
        return Release(f"{record.version.partition('-')[0]}-{digest}", record.version)

    def seen(self) -> Seen:
        """Return AVA as it runs; AvadmError where no master can be asked."""
        params = {
            **probed(self.cluster.site),
            "port": INTERNAL,
            "silent": [JUMP],
            "series": [*ACTS.values(), *LOOPS.values()],
        }
        seen = self._first(self.cluster.asked("master"), processes.ask, params, _seen, "get pods")
        # Without an address of the ingress it cannot be asked about the way in.
        return seen if params["address"] else replace(seen, way="")

    def database(self) -> DatabaseState:
        """Return the database as its primary has it; AvadmError where there is none, or it has no tables of AVA."""
        node = DatabaseMembers(self.cluster).leader()
        if not node:
            raise AvadmError.of(CODE, found="no member is the primary", words="psql")
        return self._first(
            [node],
            dumps.ask,
            {"database": DATABASE},
            lambda one: _state(node, one),
            "psql",
        )

    def members(self) -> dict[str, str]:
        """Return node (or ``cluster``) to what keeps the database from being well."""
        return DatabaseMembers(self.cluster).troubles()

    def dump(self, state: DatabaseState) -> str:
        """Dump the database on its primary, and check that the dump is whole; return the file, NODE:PATH."""
        params = {"database": DATABASE, "revision": state.revision}
        return self._first(
            [state.node],
            dumps.dump,
            params,
            lambda one: f"{state.node}:{one['path']} ({one['bytes']} bytes, {one['tables']} tables)",
            "pg_dump",
            DUMP_S,
        )

    def dumped(self, since: float) -> list[str]:
        """Return the revisions of the whole dumps that were taken since a time, epoch seconds; the first one first."""
        answers = self._each(
            "database",
            dumps.dumps,
            {},
            lambda one: [(str(r), float(at)) for r, at in one["dumps"]],
            DUMP_S,
        )
        found = [(at, revision) for rows in answers.values() for revision, at in rows]
        return [revision for at, revision in sorted(found) if at >= since - SKEW_S]

    def manifests(self) -> dict[str, Manifests]:
        """Return master to the manifests there; nothing of masters that do not answer."""
        return self._each(
            "master",
            manifests.ask,
            {},
            lambda one: Manifests(str(one["written"]), [str(tag) for tag in one["kept"]]),
        )

    def keep(self, tag: str) -> list[str]:
        """Keep the manifests of a tag on the masters that have them; return those masters."""
        answers = self._each("master", manifests.keep, {"tag": tag}, lambda one: bool(one["kept"]))
        return [name for name, kept in answers.items() if kept]

    def pushed(self, tag: str) -> dict[str, bool]:
        """Return node of the registry to whether it has the image of a tag.

        Raises:
            AvadmError: one cannot be asked.
        """
        target = f"docker://127.0.0.1:{REGISTRY_PORT + 2}/{REPOSITORY}:{tag}"
        command = shlex.join(
            ["skopeo", "inspect", "--raw", "--cert-dir", "/etc/docker-registry/writer", target]
        )
        found = {}
        for name in self.cluster.asked("registry"):
            try:
                text = self.cluster.first([name], command, CODE, "skopeo inspect")
            except AvadmError as error:
                if any(words in error.findings[-1].found for words in ("manifest unknown", "name unknown")):
                    found[name] = False
                    continue
                raise
            with health.reading("skopeo inspect", CODE):
                digest = str(json.loads(text)["config"]["digest"])
                found[name] = digest.startswith(f"sha256:{tag.rpartition('-')[2]}")
        return found

    def nodes(self) -> list[str]:
        """Return the nodes of AVA's phase that take commands."""
        hosts = COMPONENT.phase.hosts(self.cluster.site)
        up = health.answering(self.cluster, hosts)
        return [name for name in hosts if name in up]

    def settled(self, names: Sequence[str]) -> bool:
        """Return whether the last run of AVA's phase on nodes came to its end."""
        return all(self.cluster.state.entry(PHASE, n).state is PhaseState.DONE for n in names)

    def roll(self, nodes: Sequence[str], command: str, tell: Tell) -> None:
        """Run AVA's phase as `avadm apply` does: image, migrations, deployments.

        Raises:
            AvadmError: it failed (exit 1).
            KeyboardInterrupt: it was stopped.
        """
        self._run(self.cluster.site_file, nodes, {}, command, tell)

    def migrate(self, former: Release, nodes: Sequence[str], command: str, tell: Tell) -> None:
        """Run the first part of AVA's phase: the image is pushed and the database migrated; the former version runs on."""
        self._run(self._with(former), nodes, {"ava_roll": False}, command, tell)

    def restore(self, former: Release, master: str, command: str, tell: Tell) -> None:
        """Apply the manifests of a former version that a master has kept, and wait for its pods."""
        own = {"ava_restore": f"{manifests.KEPT}/{former.tag}"}
        self._run(self._with(former), [master], own, command, tell)

    def _with(self, release: Release) -> SiteFile:
        """Return the site with a version of AVA that its profile may not name: after the phase that one runs."""
        file = self.cluster.site_file
        versions = {**file.profile.versions, PHASE: release.number}
        return replace(file, profile=file.profile.model_copy(update={"versions": versions}))

    def _run(
        self, file: SiteFile, nodes: Sequence[str], own: Mapping[str, Any], command: str, tell: Tell
    ) -> None:
        steps = make_plan(file.site, [PHASE], limit=nodes)
        request = Request(command, [PHASE], nodes, own=dict.fromkeys(nodes, own))
        run_phases(self.cluster, file, steps, request, tell, code="phase-failed", verb="upgrade", phase=PHASE)

    def _each(
        self,
        role: str,
        function: Function,
        params: Mapping[str, Any],
        read: Callable[[Any], T],
        timeout: float = ALL_S,
    ) -> dict[str, T]:
        """Return node to its answer, of the nodes with a role that give one."""
        answers = ask(
            self.cluster.fleet,
            self.cluster.site_file.profile.python,
            function,
            dict.fromkeys(self.cluster.asked(role), params),
            read=read,
            timeout=timeout,
        )
        return {name: answer.value for name, answer in answers.items() if answer.value is not None}

    def _first(
        self,
        nodes: Sequence[str],
        function: Function,
        params: Mapping[str, Any],
        read: Callable[[Any], T],
        words: str,
        timeout: float = ASK_S,
    ) -> T:
        """Return the answer of the first node that gives one.

        Raises:
            AvadmError: none does; one finding of each node.
        """
        findings = []
        for name in nodes:
            answer = ask(
                self.cluster.fleet,
                self.cluster.site_file.profile.python,
                function,
                {name: params},
                read=lambda one: read(mapping(one)),
                timeout=timeout,
            )[name]
            if answer.value is not None:
                return answer.value
            findings.append(finding(CODE, found=answer.why, host=name, words=words))
        raise AvadmError(findings or [finding(CODE, found="no node can be asked", words=words)])


def unready(parts: Sequence[str], seen: Seen, *, one: bool = False) -> list[str]:
    """Return what keeps AVA from being well, whatever its version is; nothing where it answers.

    Args:
        parts: the deployments that it must have.
        seen: AVA as it runs.
        one: whether one pod of each of these parts, ready and answering, is enough, as where nodes are away. Else all pods of
            all deployments count, those of others too.

    Returns:
        One text for each part, pod, lease of the parts, and for the way in.
    """
    wrong = []
    for part in parts if one else dict.fromkeys([*parts, *sorted(seen.deployed)]):
        wanted = seen.wanted.get(part)
        pods = [pod for pod in seen.pods if pod.part == part and pod.ready and not pod.ending]
        if wanted is None:
            wrong.append(f"{part} is not deployed")
        elif not one and len(pods) < wanted:
            wrong.append(f"{part}: {len(pods)} of {quantity(wanted, 'pod')} ready")
        elif one and wanted and all(pod.why for pod in pods):
            wrong += [f"{pod.name}: {pod.why}" for pod in pods] or [f"{part}: no pod is ready"]
    if not one:
        wrong += [f"{pod.name}: {pod.why}" for pod in seen.pods if pod.why]
    leases = seen.leases.items()
    wrong += [f"{name}: {why}" for name, why in leases if why and (not one or name[len(LEASE) :] in parts)]
    return wrong + ([f"users do not get in: {seen.way}"] if seen.way else [])


def _seen(found: Mapping[str, Any]) -> Seen:
    before, after = found["leases"]
    way = found["way"]
    return Seen(
        {str(name): _tag(one["image"]) for name, one in found["deployed"].items()},
        {str(name): int(one["pods"]) for name, one in found["deployed"].items()},
        [
            Pod(
                str(one["name"]),
                str(one["part"]),
                _tag(one["image"]),
                one["ready"] is True,
                one["ending"] is True,
                str(one["version"]),
                {str(k): float(v) for k, v in one["figures"].items()},
                str(one["why"]),
            )
            for one in found["pods"]
        ],
        {str(name): _held(before[name], after[name]) for name in before},
        "" if way["status"] == 200 else str(way["said"] or f"HTTP {way['status']}"),
    )


def _state(node: str, found: Mapping[str, Any]) -> DatabaseState:
    revision = found["revision"]
    if not isinstance(revision, str):
        raise TypeError("the database has no revision")
    return DatabaseState(node, revision, int(found["bytes"]), int(found["free"]))


def _held(before: Any, after: Any) -> str:
    if not after or not after[0]:
        return "no process has it"
    return f"{after[0]} has it and does not renew it" if before == after else ""


def _tag(image: object) -> str:
    return str(image).rpartition("/")[2].partition(":")[2]
