"""The client: one method per verb, objects as plain dicts, errors as types.

A bind's reply is a ``Status`` without the object (1.9), merge patches work on built-in and custom kinds alike, and
nothing is decoded into a model that the server of another year would not fit.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from ava.kube.access import Access
from ava.kube.backoff import Backoff
from ava.kube.errors import RETRIED, AlreadyExists, Conflict, Gone, KubeError, Unavailable, from_status
from ava.kube.replies import decode, retry_after, status_of
from ava.kube.resources import PODS, Kind

MERGE = "application/merge-patch+json"
PAGE = 500
"""Objects asked for at once in a list."""
ATTEMPTS = 4
"""How often a read is sent before its error is passed on."""
Object = dict[str, Any]


def _socket(info: Any) -> socket.socket:
    """Return a socket that finds out within half a minute that the other side is gone without a word."""
    family, kind, proto, _, _ = info
    made = socket.socket(family, kind, proto)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 25_000)
    return made


class Client:
    """Asks one API server. Use as ``async with Client(access) as client``.

    Args:
        access: where and who (access.py).
        timeout: seconds for one request and its whole reply; watches have their own.
        connections: at most so many at once; more requests wait.
    """

    def __init__(self, access: Access, *, timeout: float = 30.0, connections: int = 64) -> None:
        self.access = access
        self.timeout = timeout
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._guard: Callable[[], float | None] | None = None

    async def __aenter__(self) -> Client:
        tls = self.access.tls()
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            ssl=tls if tls is not None else True,
            socket_factory=_socket,
            keepalive_timeout=60,
            enable_cleanup_closed=True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector, trust_env=False, auto_decompress=True, raise_for_status=False
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None and self._guard is None:
            await self._session.close()

    def guarded(self, guard: Callable[[], float | None]) -> Client:
        """Return a client on the same connections whose writes ask ``guard`` first (leader.py).

        ``guard`` raises ``Fenced``, or returns how many seconds a write may take at most.
        """
        twin = Client(self.access, timeout=self.timeout)
        twin._session, twin._guard = self._session, guard
        return twin

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and give the reply whose body is not read yet; anything but 2xx is raised as a KubeError."""
        if self._session is None:
            raise RuntimeError("Client is used outside of 'async with'")
        where = f"{method} {path}"
        headers = self.access.headers() | {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            async with self._session.request(
                method,
                self.access.server + path,
                params=params,
                data=orjson.dumps(body) if body is not None else None,
                headers=headers,
                timeout=timeout or aiohttp.ClientTimeout(total=self.timeout, sock_connect=10),
                allow_redirects=False,
                server_hostname=self.access.name,
            ) as reply:
                if reply.status // 100 != 2:
                    raise from_status(reply.status, await status_of(reply), where, retry_after(reply))
                yield reply
        except TimeoutError:
            raise Unavailable(f"{where}: no reply in time", reason="Timeout") from None
        except (aiohttp.ClientError, OSError) as error:
            # Only the class: aiohttp's texts may quote headers.
            raise Unavailable(f"{where}: {type(error).__name__}", reason="Connection") from None

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Send a request and return the decoded reply. Reads are repeated after errors that pass; writes are not."""
        limit = None
        if method != "GET" and self._guard is not None:
            left = self._guard()
            limit = None if left is None else aiohttp.ClientTimeout(total=min(left, self.timeout))
        backoff = Backoff(0.1, 2.0)
        for attempt in range(ATTEMPTS):
            try:
                async with self.stream(
                    method, path, params=params, body=body, content_type=content_type, timeout=limit
                ) as reply:
                    return decode(await reply.read(), f"{method} {path}")
            except RETRIED as error:
                if method != "GET" or attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(min(error.retry_after or backoff.next(), 10.0))
        raise AssertionError("unreachable")

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """Return one object; NotFound where there is none."""
        return await self.request("GET", kind.path(namespace, name))

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = PAGE,
    ) -> tuple[list[Object], str]:
        """Return all objects (of a namespace, or of all) and the resource version to watch from.

        Asks in pages of ``limit``; where the first page is too old before the last is read, asks once more for all at once.
        """
        selectors = {k: v for k, v in (("labelSelector", labels), ("fieldSelector", fields)) if v}
        path = kind.path(namespace)
        params = selectors | {"limit": str(limit)}
        found: list[Object] = []
        while True:
            try:
                page = await self.request("GET", path, params=params)
            except Gone:
                if "continue" not in params:
                    raise
                page = await self.request("GET", path, params=selectors)
                return page.get("items") or [], page["metadata"].get("resourceVersion", "0")
            found += page.get("items") or []
            more = page["metadata"].get("continue")
            if not more:
                return found, page["metadata"].get("resourceVersion", "0")
            params["continue"] = more

    async def create(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        """Make an object; AlreadyExists where one has its name."""
        return await self.request("POST", kind.path(namespace), body=kind.head() | body)

    async def replace(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        """Put an object in place of the one that has its name and resource version; Conflict where that has changed."""
        return await self.request(
            "PUT", kind.path(namespace, body["metadata"]["name"]), body=kind.head() | body
        )

    async def patch(
        self, kind: Kind, name: str, patch: Object, namespace: str | None = None, *, sub: str | None = None
    ) -> Object:
        """Apply a JSON merge patch (RFC 7396); with ``metadata.resourceVersion`` or ``uid`` in it only to that version."""
        return await self.request("PATCH", kind.path(namespace, name, sub), body=patch, content_type=MERGE)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        grace: int | None = None,
    ) -> bool:
        """Ask for an object's end; return False where it was not there.

        With ``uid`` only for the object of this uid: Conflict where another one has the name by now. ``grace`` is the time
        between SIGTERM and SIGKILL in seconds; None: the pod's own; 0: forget a pod without waiting for its kubelet.
        """
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            await self.request("DELETE", kind.path(namespace, name), body=options)
        except KubeError as error:
            if error.code == 404:
                return False
            raise
        return True

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str] | None = None
    ) -> bool:
        """Bind a pod to a node; True when this pod (``uid``) is bound there now, also by an earlier try whose reply was lost.

        False where it is bound elsewhere or is not that pod any more. ``annotations`` are put on the pod in the same write.
        """
        body: Object = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        if annotations:
            body["metadata"]["annotations"] = annotations
        path = PODS.path(namespace, name, "binding")
        backoff = Backoff(0.1, 1.0)
        for attempt in range(ATTEMPTS):
            try:
                await self.request("POST", path, body=body)
            except Conflict:
                return await self._bound(namespace, name, uid) == node
            except RETRIED as error:
                # The write may have been done: look before sending it again, so that 409 is not taken for somebody else's.
                bound = await self._bound(namespace, name, uid)
                if bound is None or bound:
                    return bound == node
                if attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(min(error.retry_after or backoff.next(), 5.0))
            except KubeError as error:
                if error.code == 404:
                    return False
                raise
            else:
                return True
        raise AssertionError("unreachable")

    async def _bound(self, namespace: str, name: str, uid: str) -> str | None:
        """Return the node of a pod, "" where it has none, None where the pod is not that one any more."""
        try:
            pod = await self.get(PODS, name, namespace)
        except KubeError as error:
            if error.code == 404:
                return None
            raise
        return pod["spec"].get("nodeName", "") if pod["metadata"]["uid"] == uid else None

    async def ensure(self, kind: Kind, body: Object, namespace: str | None = None) -> Object:
        """Make an object, or return the one that has its name already (no matter who made it: the caller looks at its labels)."""
        try:
            return await self.create(kind, body, namespace)
        except AlreadyExists:
            return await self.get(kind, body["metadata"]["name"], namespace)
