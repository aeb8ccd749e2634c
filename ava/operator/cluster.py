"""What the operator made in its cluster, mirrored: it looks at memory, and writes only what is missing or too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from ava.domain import labels
from ava.kube import resources
from ava.kube.client import Client, Object
from ava.kube.errors import AlreadyExists, Conflict, Denied
from ava.kube.informer import Informer, Key, key
from ava.kube.resources import Kind
from ava.operator.secret_cache import SecretCache

LOOK = 30
"""Seconds of one watch: so often the API server is heard even where nothing changes."""
RUN_KINDS = (
    resources.PODS,
    resources.SERVICES,
    resources.CONFIG_MAPS,
    resources.SECRETS,
    resources.NETWORK_POLICIES,
    resources.INGRESSES,
)
"""What is made for a run, in the order in which it is removed."""


class OwnershipConflict(Exception):
    """An object has the name that the operator needs, and somebody else made it."""


class Cluster:
    """One cluster's objects with the operator's label, and its nodes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        ours = f"{labels.MANAGED}=true"
        kinds = (*RUN_KINDS, resources.NAMESPACES, resources.CLAIMS)
        self.made: dict[Kind, Informer | SecretCache] = {
            kind: Informer(client, kind, labels=ours, accept=labels.ours, seconds=LOOK) for kind in kinds
        }
        self.secrets = SecretCache(client, resources.SECRETS, labels=ours)
        self.made[resources.SECRETS] = self.secrets
        self.nodes = Informer(client, resources.NODES, seconds=LOOK)
        self.pods = Informer(client, resources.PODS, labels=ours, accept=labels.ours, seconds=LOOK)
        self.made[resources.PODS] = self.pods
        self._changed: list[Callable[[str], None]] = []
        self._by_run: dict[Kind, dict[str, dict[Key, Object]]] = {}
        """Objects of each run by kind: found without looking at everybody's. Not of secrets, which are not watched."""
        for kind in RUN_KINDS:
            if isinstance(made := self.made[kind], Informer):
                made.listen(partial(_index, self._by_run.setdefault(kind, {})))
        self.pods.listen(self._notify)

    def mirrors(self) -> list[Informer]:
        """Return all mirrors, to be run."""
        return [*(made for made in self.made.values() if isinstance(made, Informer)), self.nodes]

    async def refresh(self) -> None:
        """Look again at what is not watched."""
        await self.secrets.refresh({name for _, name in self.made[resources.NAMESPACES].objects})

    def on_pod(self, listener: Callable[[str], None]) -> None:
        """Tell ``listener`` the id of each run whose pods change."""
        self._changed.append(listener)

    def silent_for(self) -> float:
        """Return the seconds since the API server last reported anything about pods."""
        return self.pods.silent_for()

    def run_pods(self, run: str) -> list[Object]:
        """Return the pods of a run, all attempts."""
        return list(self._by_run[resources.PODS].get(run, {}).values())

    def runs(self) -> set[str]:
        """Return the ids of all runs that something is there of."""
        return {
            run for kind in RUN_KINDS for thing in self.made[kind].objects.values() if (run := run_of(thing))
        }

    def of_run(self, run: str) -> Iterator[tuple[Kind, Object]]:
        """Give all that is there of a run."""
        for kind in RUN_KINDS:
            known = self._by_run.get(kind)
            mine = (
                known.get(run, {}).values()
                if known is not None
                else self.made[kind].select(partial(is_of, run))
            )
            for thing in list(mine):
                yield kind, thing

    def has(self, kind: Kind, name: str, namespace: str = "") -> bool:
        """Return whether the operator made such an object."""
        return (namespace, name) in self.made[kind].objects

    async def make(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        """Make an object of ours, or find it made. Raises Foreign where somebody else's has the name."""
        name = body["metadata"]["name"]
        try:
            made = await self.client.create(kind, body, namespace)
        except AlreadyExists:
            made = await self.client.get(kind, name, namespace)
            there, wanted = _labels(made), _labels(body)
            if any(there.get(key) != value for key, value in wanted.items() if key in _IDENTITY):
                where = f"{namespace}/{name}" if namespace else name
                raise OwnershipConflict(
                    f"{kind.name} {where} is there and not ours; rename or remove it"
                ) from None
        self.made[kind].put(made)
        return made

    async def remove(self, kind: Kind, thing: Object, grace: int | None = None) -> None:
        """Remove one object that carries our label, by the uid that was seen."""
        meta = thing["metadata"]
        if _labels(thing).get(labels.MANAGED) != "true":
            raise OwnershipConflict(f"{kind.name} {meta['name']} does not carry our label")
        try:
            await self.client.delete(kind, meta["name"], meta.get("namespace"), uid=meta["uid"], grace=grace)
            if kind is resources.SECRETS:
                self.secrets.drop(thing)
        except Conflict:
            # Another object has the name by now; the mirror will tell.
            return

    async def listed(self, run: str, namespace: str) -> list[tuple[Kind, Object]]:
        """Return all that the server itself has of a run, whatever the mirrors know yet."""
        selector = f"{labels.MANAGED}=true,{labels.RUN}={run}"

        async def one(kind: Kind) -> list[tuple[Kind, Object]]:
            try:
                found, _ = await self.client.list(kind, namespace, labels=selector)
            except Denied:
                # Of a namespace that is not there no one may read, nor is there anything.
                if self.has(resources.NAMESPACES, namespace):
                    raise
                return []
            return [(kind, thing) for thing in found]

        return [pair for some in await asyncio.gather(*map(one, RUN_KINDS)) for pair in some]

    def _notify(self, old: Object | None, new: Object | None) -> None:
        for thing in (old, new):
            if thing and (run := run_of(thing)):
                for listener in self._changed:
                    listener(run)


def _index(known: dict[str, dict[Key, Object]], old: Object | None, new: Object | None) -> None:
    """Keep an index by run as a mirror changes."""
    if old and (run := run_of(old)) in known:
        known[run].pop(key(old), None)
        if not known[run]:
            del known[run]
    if new and (run := run_of(new)):
        known.setdefault(run, {})[key(new)] = new


def is_of(run: str, thing: Object) -> bool:
    """Return whether an object was made for a run."""
    return run_of(thing) == run


_IDENTITY = frozenset({labels.MANAGED, labels.RUN, labels.GROUP})


def _labels(thing: Object) -> dict[str, str]:
    return thing["metadata"].get("labels") or {}


def run_of(thing: Object) -> str:
    """Return the id of the run that an object was made for; empty for none."""
    return _labels(thing).get(labels.RUN, "")
