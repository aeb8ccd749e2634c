"""Secrets that the operator made, namespace by namespace: it may not list them anywhere else.

What a mirror learns by watching is known here by writing: no other process changes them, for one operator leads. What somebody
removed by hand is found at the next ``refresh``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ava.kube.client import Client, Object
from ava.kube.errors import Denied, NotFound
from ava.kube.for_each import for_each
from ava.kube.informer import Key, key
from ava.kube.resources import Kind
from ava.kube.trim import trim


class SecretCache:
    """Objects of one kind in the namespaces that were asked for; used as a mirror is (kube/mirror.py)."""

    def __init__(self, client: Client, kind: Kind, *, labels: str) -> None:
        self.client, self.kind, self._labels = client, kind, labels
        self.objects: dict[Key, Object] = {}
        self._known: set[str] = set()

    def select(self, wanted: Callable[[Object], bool]) -> Iterator[Object]:
        """Return the objects that ``wanted`` says yes to."""
        return (thing for thing in list(self.objects.values()) if wanted(thing))

    def put(self, thing: Object) -> None:
        """Take an object as a reply had it, without its contents."""
        self.objects[key(thing)] = trim(thing)

    def drop(self, thing: Object) -> None:
        """Forget an object that was removed."""
        self.objects.pop(key(thing), None)

    async def know(self, namespace: str) -> None:
        """Look at a namespace unless that was done before. Raises Denied as long as it is not bound to the operator."""
        if namespace not in self._known:
            await self._look(namespace)

    async def refresh(self, namespaces: set[str]) -> None:
        """Look at namespaces again; those that are gone or not bound yet are left out."""
        for gone in self._known - namespaces:
            self._forget(gone)

        async def one(namespace: str) -> None:
            try:
                await self._look(namespace)
            except (Denied, NotFound):
                self._forget(namespace)

        await for_each(self.kind.plural, sorted(namespaces), one)

    async def _look(self, namespace: str) -> None:
        found, _ = await self.client.list(self.kind, namespace, labels=self._labels)
        self._forget(namespace)
        self._known.add(namespace)
        for thing in found:
            self.put(thing)

    def _forget(self, namespace: str) -> None:
        self._known.discard(namespace)
        for known in [k for k in self.objects if k[0] == namespace]:
            del self.objects[known]
