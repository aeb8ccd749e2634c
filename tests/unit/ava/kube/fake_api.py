"""An API server in memory that behaves as 1.9.11 does where AVA's parts touch it (ava-facts.md 1).

Bind answers with a Status; a watch ends after timeoutSeconds, and one from a version that is forgotten gets an ERROR event
of 410; a replace of an old version is 409; a pod without a node is deleted at once, one with a node waits for its kubelet.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import datetime
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

from ava.kube.access import Access

Object = dict[str, Any]


class Fault(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, reason: str, message: str = "") -> None:
        super().__init__(message)
        self.code, self.reason = code, reason


class FakeApi:
    """The server. ``log`` has all requests; ``before`` may raise Fault, or wait, for a request."""

    def __init__(self) -> None:
        self.version = 1
        self.collections: dict[str, dict[tuple[str, str], Object]] = {}
        self.history: dict[str, list[tuple[int, str, Object]]] = {}
        self.forgotten = 0
        self.log: list[tuple[str, str]] = []
        self.before: Callable[[str, str], Any] | None = None
        self.after: Callable[[str, str], Any] | None = None
        self.mute = False
        """Watches are taken and say nothing, not even their end."""
        self._uids = itertools.count(1)
        self._news = asyncio.Condition()
        self._continues: dict[str, tuple[int, list[Object]]] = {}
        self.watches = 0
        self._open: set[asyncio.Transport] = set()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Access]:
        """Serve on a free port of 127.0.0.1."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield Access(server=f"http://127.0.0.1:{runner.addresses[0][1]}", token="secret-token")
        finally:
            await runner.cleanup()

    def forget(self) -> None:
        """Compact: what is older than now cannot be watched or listed from."""
        self.forgotten = self.version
        self._continues.clear()

    def cut(self) -> None:
        """Break the connection of each watch that is open, in the middle of whatever it says."""
        for transport in self._open:
            transport.abort()
        self._open.clear()

    def all(self, plural: str) -> list[Object]:
        """Return all objects of a kind."""
        return list(self.collections.get(plural, {}).values())

    async def put(self, plural: str, thing: Object) -> Object:
        """Add an object as another client would."""
        meta = thing["metadata"]
        meta.setdefault("uid", f"uid-{next(self._uids)}")
        return await self._write(plural, (meta.get("namespace", ""), meta["name"]), thing, "ADDED")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.log.append((request.method, request.path))
        try:
            if self.before is not None:
                answer = self.before(request.method, request.path)
                if asyncio.iscoroutine(answer):
                    await answer
            reply = await self._route(request)
            if self.after is not None:
                answer = self.after(request.method, request.path)
                if asyncio.iscoroutine(answer):
                    await answer
        except Fault as fault:
            return _json(
                {"kind": "Status", "code": fault.code, "reason": fault.reason, "message": str(fault)},
                fault.code,
            )
        return reply

    async def _route(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        space = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            space, parts = parts[1], parts[2:]
        plural, name, sub = parts[0], *(parts[1:2] or [""]), *(parts[2:3] or [""])
        body = orjson.loads(await request.read() or b"{}")
        if request.method == "GET" and name:
            return _json(self._find(plural, space, name))
        if request.method == "GET" and request.query.get("watch") == "true":
            return await self._watch(request, plural, space)
        if request.method == "GET":
            return self._list(request, plural, space)
        if request.method == "POST" and sub == "binding":
            return await self._bind(space, name, body)
        if request.method == "POST":
            return await self._create(plural, space, body)
        if request.method == "PUT":
            return await self._replace(plural, space, name, body)
        if request.method == "PATCH":
            return await self._patch(plural, space, name, body)
        if request.method == "DELETE":
            return await self._delete(plural, space, name, body)
        raise Fault(405, "MethodNotAllowed")

    def _find(self, plural: str, space: str, name: str) -> Object:
        found = self.collections.get(plural, {}).get((space, name))
        if found is None:
            raise Fault(404, "NotFound", f'{plural} "{name}" not found')
        return found

    def _list(self, request: web.Request, plural: str, space: str) -> web.Response:
        token = request.query.get("continue", "")
        if token:
            if token not in self._continues:
                raise Fault(410, "Expired", "The provided continue parameter is too old")
            version, items = self._continues.pop(token)
        else:
            version = self.version
            items = [t for (s, _), t in sorted(self.collections.get(plural, {}).items()) if space in ("", s)]
            items = [t for t in items if _matches(t, request.query)]
        limit = int(request.query.get("limit", 0)) or len(items)
        meta = {"resourceVersion": str(version)}
        if len(items) > limit:
            meta["continue"] = f"c{next(self._uids)}"
            self._continues[meta["continue"]] = (version, items[limit:])
        return _json({"metadata": meta, "items": items[:limit]})

    async def _watch(self, request: web.Request, plural: str, space: str) -> web.StreamResponse:
        seen = int(request.query.get("resourceVersion", self.version))
        end = asyncio.get_running_loop().time() + float(request.query.get("timeoutSeconds", 1800))
        reply = web.StreamResponse()
        await reply.prepare(request)
        self.watches += 1
        if request.transport is not None:
            self._open.add(request.transport)
        if seen < self.forgotten:
            status = {
                "kind": "Status",
                "code": 410,
                "reason": "Gone",
                "message": f"too old resource version: {seen}",
            }
            await reply.write(orjson.dumps({"type": "ERROR", "object": status}) + b"\n")
            return reply
        while self.mute:
            await asyncio.sleep(0.05)
        while True:
            for version, kind, thing in list(self.history.get(plural, [])):
                if (
                    version > seen
                    and space in ("", thing["metadata"].get("namespace"))
                    and _matches(thing, request.query)
                ):
                    await reply.write(orjson.dumps({"type": kind, "object": thing}) + b"\n")
            seen = max(seen, self.version)
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return reply
            try:
                async with asyncio.timeout(min(left, 0.5)), self._news:
                    await self._news.wait_for(lambda: self.version > seen)  # noqa: B023
            except TimeoutError:
                continue

    async def _create(self, plural: str, space: str, body: Object) -> web.Response:
        body = copy.deepcopy(body)
        meta = body["metadata"]
        if space:
            if ("", space) not in self.collections.get("namespaces", {}):
                raise Fault(404, "NotFound", f'namespaces "{space}" not found')
            meta["namespace"] = space
        if (space, meta["name"]) in self.collections.get(plural, {}):
            raise Fault(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists')
        meta["uid"] = f"uid-{next(self._uids)}"
        if plural == "pods":
            body["status"] = {"phase": "Pending"}
        return _json(await self._write(plural, (space, meta["name"]), body, "ADDED"), 201)

    async def _replace(self, plural: str, space: str, name: str, body: Object) -> web.Response:
        there = self._find(plural, space, name)
        if body["metadata"].get("resourceVersion") not in (None, there["metadata"]["resourceVersion"]):
            raise Fault(409, "Conflict", "the object has been modified")
        body["metadata"] = {**body["metadata"], "uid": there["metadata"]["uid"]}
        if space:
            body["metadata"]["namespace"] = space
        return _json(await self._write(plural, (space, name), body, "MODIFIED"))

    async def _patch(self, plural: str, space: str, name: str, patch: Object) -> web.Response:
        there = copy.deepcopy(self._find(plural, space, name))
        return _json(await self._write(plural, (space, name), _merged(there, patch), "MODIFIED"))

    async def _bind(self, space: str, name: str, body: Object) -> web.Response:
        pod = copy.deepcopy(self._find("pods", space, name))
        if pod["spec"].get("nodeName"):
            raise Fault(
                409, "Conflict", f"pod {name} is already assigned to node {pod['spec']['nodeName']!r}"
            )
        pod["spec"]["nodeName"] = body["target"]["name"]
        pod["metadata"].setdefault("annotations", {}).update(body["metadata"].get("annotations") or {})
        await self._write("pods", (space, name), pod, "MODIFIED")
        return _json({"kind": "Status", "status": "Success", "code": 201}, 201)

    async def _delete(self, plural: str, space: str, name: str, body: Object) -> web.Response:
        thing = copy.deepcopy(self._find(plural, space, name))
        meta = thing["metadata"]
        wanted = (body.get("preconditions") or {}).get("uid")
        if wanted is not None and wanted != meta["uid"]:
            raise Fault(409, "Conflict", "the UID in the precondition does not match")
        ended = (thing.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if (
            plural == "pods"
            and thing["spec"].get("nodeName")
            and not ended
            and body.get("gracePeriodSeconds") != 0
        ):
            grace = body.get("gracePeriodSeconds", thing["spec"].get("terminationGracePeriodSeconds", 30))
            meta["deletionGracePeriodSeconds"] = min(grace, meta.get("deletionGracePeriodSeconds", grace))
            meta.setdefault("deletionTimestamp", _now())
            return _json(await self._write(plural, (space, name), thing, "MODIFIED"))
        await self._write(plural, (space, name), thing, "DELETED")
        return _json({"kind": "Status", "status": "Success"})

    async def _write(self, plural: str, key: tuple[str, str], thing: Object, kind: str) -> Object:
        self.version += 1
        for name, text in thing.pop("stringData", {}).items():
            thing.setdefault("data", {})[name] = base64.b64encode(text.encode()).decode()
        thing["metadata"] |= {"resourceVersion": str(self.version)}
        thing["metadata"].setdefault("creationTimestamp", _now())
        things = self.collections.setdefault(plural, {})
        things[key] = thing
        if kind == "DELETED":
            del things[key]
        self.history.setdefault(plural, []).append((self.version, kind, copy.deepcopy(thing)))
        async with self._news:
            self._news.notify_all()
        return thing


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(body: Object, code: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=code, content_type="application/json")


def _merged(there: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    found = dict(there) if isinstance(there, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value)
    return found


def _matches(thing: Object, query: Any) -> bool:
    marks = thing["metadata"].get("labels") or {}
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, _, value = term.partition("=")
        if marks.get(key) != value:
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        key, _, value = term.partition("=")
        found: Any = thing
        for part in key.split("."):
            found = (found or {}).get(part)
        if (found or "") != value:
            return False
    return True
