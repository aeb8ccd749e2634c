"""Makes what a run needs, in an order in which nothing is ever open that should be closed, and takes it away again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import orjson

from ava.domain import labels
from ava.domain.disks import node_of
from ava.domain.model import Run
from ava.domain.spec import Distributed
from ava.kube.client import Object
from ava.kube.errors import Conflict, NotFound
from ava.kube.resources import CONFIG_MAPS, NAMESPACES, NETWORK_POLICIES, PODS, SECRETS, SERVICES, Kind
from ava.operator import ssh_keys
from ava.operator.cluster import Cluster
from ava.operator.concurrency import gather_limited
from ava.operator.config import Config
from ava.operator.disks import claim_of
from ava.operator.manifests import group_namespace, hostfile, pod_parts, run_files
from ava.operator.manifests import pod as pod_manifest
from ava.operator.policies import Place
from ava.operator.run_context import RunContext

DIGEST = f"{labels.PREFIX}/digest"
"""Annotation: of what the operator last wrote, so that changed settings reach what is there."""
NEW = 30.0
"""Seconds in which the scheduler gives the operator its rights in a namespace that was just made."""


class RunObjects:
    """Makes and removes a run's objects."""

    def __init__(self, cluster: Cluster, config: Config) -> None:
        self.cluster = cluster
        self.config = config
        self.site = config.pods.site()
        self._made: dict[str, float] = {}

    async def group(self, group: str) -> None:
        """Make a group's namespace and its policies; the policies follow the settings."""
        space = labels.namespace(group)
        if not self.cluster.has(NAMESPACES, space):
            await self.cluster.make(NAMESPACES, group_namespace.namespace(group))
            self._made[space] = time.monotonic()
        for policy in group_namespace.policies(group, self.config.network.rules()):
            await self.keep(NETWORK_POLICIES, policy, space)
        await self.cluster.secrets.know(space)

    def is_new(self, group: str) -> bool:
        """Return whether a group's namespace was made so lately that the rights in it may still be on their way."""
        return time.monotonic() - self._made.get(labels.namespace(group), -NEW) < NEW

    async def run(self, facts: RunContext, deploy_keys: Mapping[str, str]) -> None:
        """Make all but the pods; the namespace first, then what closes it, then at once what the pods mount."""
        run, spec, space = facts.run, facts.spec, facts.namespace
        await self.group(run.group)
        ports = [pod_manifest.TENSORBOARD_PORT] if spec.tensorboard else []
        await self.keep(NETWORK_POLICIES, self._policy(run, ports), space)
        name = hostfile.service(run.id, run.attempt)
        config = run_files.config_map(run, spec, facts.members, facts.owner, facts.group)
        if spec.git is not None:
            await self.keep(
                NETWORK_POLICIES, group_namespace.git_policy(run, self.config.network.code()), space
            )
            config["data"][pod_parts.GIT_CA] = _text(self.config.pods.git_ca)
        made = [
            partial(self.need, CONFIG_MAPS, config, space),
            partial(self.need, SERVICES, group_namespace.peers_service(run), space),
        ]
        if (env := run_files.env_secret(run, spec)) is not None:
            made.append(partial(self.need, SECRETS, env, space))
        if spec.tensorboard:
            made.append(
                partial(self.need, SERVICES, group_namespace.tensorboard(run, board_role(facts)), space)
            )
        if spec.distributed is Distributed.MPI and not self.cluster.has(SECRETS, f"{name}-ssh", space):
            # Twice made by a restart in between: the first stays, anyone who asks again gets that one.
            secret = run_files.ssh_secret(run, *ssh_keys.pair(), *ssh_keys.pair())
            made.append(partial(self.need, SECRETS, secret, space))
        if spec.git is not None and spec.git.key and not self.cluster.has(SECRETS, f"{name}-git", space):
            made.append(partial(self.need, SECRETS, self._deploy_key(facts, deploy_keys), space))
        await gather_limited(made)

    def _policy(self, run: Run, ports: list[int]) -> Object:
        network = self.config.network
        return group_namespace.run_policy(run, network.web, ports, network.doors)

    async def pods(self, facts: RunContext, places: Mapping[Place, int]) -> None:
        """Make the pods of places; ``places`` says how often each was replaced."""
        roles = {role.name: role for role in facts.spec.roles}
        disk_node = node_of(claim_of(self.cluster, facts.run)) if facts.disk else ""

        def body(place: Place, restarts: int) -> Object:
            role = roles[place[0]]
            where = pod_manifest.PodContext(
                facts.run,
                facts.spec,
                role,
                place[1],
                facts.owner,
                facts.group,
                facts.members,
                facts.pools[role.name],
                restarts,
                facts.groups,
                facts.data,
                facts.disk,
                disk_node,
                facts.queue_priority,
                facts.pinned(role),
            )
            return pod_manifest.pod(where, self.site)

        bodies = [body(place, restarts) for place, restarts in places.items()]
        await gather_limited(partial(self.cluster.make, PODS, one, facts.namespace) for one in bodies)

    async def remove_pods(self, some: list[Object], *, now: bool = False) -> None:
        """Ask for the end of pods that are not ending yet; ``now``: within a second."""

        def due(pod: Object) -> bool:
            meta = pod["metadata"]
            left = meta.get("deletionGracePeriodSeconds")
            return not meta.get("deletionTimestamp") or (now and left is not None and left > 1)

        # A grace of 0 would forget the pod while its container still runs; 1 s lets the kubelet kill it at once.
        grace = 1 if now else None
        await gather_limited(partial(self.cluster.remove, PODS, pod, grace) for pod in some if due(pod))

    async def remove_rest(self, run: str, namespace: str) -> bool:
        """Remove all but the pods of a run; return False, and remove nothing, where the server still has a pod of it."""
        there = await self.cluster.listed(run, namespace)
        if any(kind is PODS for kind, _ in there):
            return False
        for kind, thing in there:
            await self.cluster.remove(kind, thing)
        return True

    async def remove_attempts(self, run: str, present: int) -> None:
        """Remove what earlier attempts mounted; their pods are gone."""
        for kind, thing in list(self.cluster.of_run(run)):
            attempt = thing["metadata"]["labels"].get(labels.ATTEMPT)
            if kind is not PODS and attempt is not None and attempt != str(present):
                await self.cluster.remove(kind, thing)

    async def need(self, kind: Kind, body: Object, space: str) -> None:
        """Make an object where there is none."""
        if not self.cluster.has(kind, body["metadata"]["name"], space):
            await self.cluster.make(kind, body, space)

    async def keep(self, kind: Kind, body: Object, space: str) -> None:
        """Make an object, or bring it to what is wanted now."""
        notes = body["metadata"].setdefault("annotations", {})
        reply = orjson.dumps([notes, body["spec"]], option=orjson.OPT_SORT_KEYS)
        notes[DIGEST] = digest = hashlib.sha256(reply).hexdigest()[:16]
        there = self.cluster.made[kind].objects.get((space, body["metadata"]["name"]))
        there = there or await self.cluster.make(kind, body, space)
        meta = there["metadata"]
        if (meta.get("annotations") or {}).get(DIGEST) == digest:
            return
        body["metadata"]["resourceVersion"] = meta["resourceVersion"]
        try:
            self.cluster.made[kind].put(await self.cluster.client.replace(kind, body, space))
        except (Conflict, NotFound):
            raise Conflict(f"{kind.name} {space}/{meta['name']} was changed meanwhile") from None

    def _deploy_key(self, facts: RunContext, deploy_keys: Mapping[str, str]) -> Object:
        """Return the Secret with the deploy key of a run's code."""
        git = facts.spec.git
        assert git is not None and git.key is not None  # noqa: S101 - asked by the caller
        if git.key not in deploy_keys:
            raise ssh_keys.Sealed(f"{facts.run.owner} has no deploy key {git.key!r}")
        key = ssh_keys.opened(deploy_keys[git.key], self.config.sealing_keys)
        known = _text(self.config.pods.git_known_hosts)
        return run_files.git_secret(facts.run, key, known)


def board_role(facts: RunContext) -> str:
    """Return the role whose pod 0 shows tensorboard: the chief's, else the first."""
    names = [role.name for role in facts.spec.roles]
    return next((n for n in ("tensorboard", "chief", "master", "launcher", "worker") if n in names), names[0])


def _text(path: Path | None) -> str:
    return path.read_text(encoding="utf-8") if path is not None else ""
