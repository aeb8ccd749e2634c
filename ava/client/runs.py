"""Definitions, runs, their logs, queues, the cluster, usage."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import httpx
from pydantic import BaseModel

from ava.client.base import Resource
from ava.client.transport import AWAY, PREFIX, Unreachable, refusal
from ava.domain.compat import UTC
from ava.domain.lines import lines
from ava.domain.problems import ApiError, Problem
from ava.domain.spec import Spec
from ava.schemas.model_services import ServiceOut
from ava.schemas.runs import (
    ClusterOut,
    DefinitionOut,
    ImageOut,
    PodOut,
    PoolOut,
    QueueOut,
    RunOut,
    UsageReport,
    WaitingOut,
    Why,
)

Kind = Literal["workbench", "training", "service"]
Phase = Literal["queued", "admitted", "finished"]
WAIT_SECONDS = 25
"""For how long one request waits for a change of a run."""
LEAST_SECONDS, POLL_SECONDS = 0.25, 1.0
"""Between two such requests at least, after a change and without one."""
CUTS, LONGEST_PAUSE = 5, 5.0
"""How often in a row a followed log is asked for again, and seconds before that at most: 11 s in all."""


class Line(BaseModel):
    """A line of a log."""

    time: datetime
    pod: str
    text: str


def _row(row: bytes) -> Line | str | None:
    """Return a line of a log, or why the log ended; None for a record that cannot be read: it never stops the others."""
    try:
        data = json.loads(row)
        return str(data["end"]) if "end" in data else Line.model_validate(data)
    except (ValueError, TypeError):
        return None


def _interrupted(id: str, found: str) -> ApiError:
    what = "The log cannot be followed to its end."
    remedy = f"The run continues: follow it with `ava logs -f {id}`, or see `ava show {id}`."
    return ApiError(503, Problem("log-interrupted", what, f"log of run {id}", found, "", remedy))


class RunsApi(Resource):
    """What is run."""

    def start(self, name: str, spec: Spec | Mapping[str, Any], *, key: str | None = None) -> RunOut:
        """Store a definition and start it.

        Args:
            name: of the definition; another one of this name gives way.
            spec: the definition.
            key: two calls with the same one make one run; None: a new one, so that a lost answer makes no second run.
        """
        body = {"name": name, "spec": _plain(spec)}
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        return self._one(RunOut, "POST", "/runs", json=body, headers=headers, again=True)

    def define(self, name: str, spec: Spec | Mapping[str, Any], *, replace: bool = False) -> DefinitionOut:
        """Store a definition."""
        body = {"name": name, "spec": _plain(spec), "replace": replace}
        return self._one(DefinitionOut, "POST", "/definitions", json=body, again=True)

    def start_definition(self, id: str, *, key: str | None = None, **changes: Any) -> RunOut:
        """Start a stored definition; ``queue`` and ``priority`` may be others than it says."""
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        return self._one(RunOut, "POST", f"/definitions/{id}/runs", json=changes, headers=headers, again=True)

    def definitions(
        self, *, kind: Kind | None = None, name: str | None = None, all: bool = False, most: int | None = None
    ) -> Iterator[DefinitionOut]:
        """Yield definitions, newest first."""
        return self._all(DefinitionOut, "/definitions", {"kind": kind, "name": name, "all": all}, most)

    def definition(self, id: str) -> DefinitionOut:
        """Return a definition."""
        return self._one(DefinitionOut, "GET", f"/definitions/{id}")

    def delete_definition(self, id: str) -> None:
        """Delete a definition of which nothing runs."""
        self._send.send("DELETE", f"/definitions/{id}")

    def runs(
        self,
        *,
        kind: Kind | None = None,
        phase: Phase | None = None,
        definition: str | None = None,
        group: str | None = None,
        owner: str | None = None,
        all: bool = False,
        most: int | None = None,
    ) -> Iterator[RunOut]:
        """Yield runs, newest first."""
        chosen = {
            "kind": kind,
            "phase": phase,
            "definition": definition,
            "group": group,
            "owner": owner,
            "all": all,
        }
        return self._all(RunOut, "/runs", chosen, most)

    def run(self, id: str) -> RunOut:
        """Return a run."""
        return self._one(RunOut, "GET", f"/runs/{id}")

    def watch(self, id: str) -> Iterator[RunOut]:
        """Yield a run as it is, and again when it has changed, without an end of its own."""
        tag: str | None = None
        while True:
            begun = time.monotonic()
            # Of a server that gives no tags it is asked again and again.
            wait = {"wait": WAIT_SECONDS} if tag else None
            answer = self._send.send(
                "GET", f"/runs/{id}", params=wait, headers={"if-none-match": tag} if tag else None
            )
            if answer.status_code != httpx.codes.NOT_MODIFIED:
                tag = answer.headers.get("etag")
                yield RunOut.model_validate_json(answer.content)
            least = LEAST_SECONDS if tag and answer.status_code != httpx.codes.NOT_MODIFIED else POLL_SECONDS
            time.sleep(max(0.0, begun + least - time.monotonic()))

    def stop(self, id: str) -> RunOut:
        """Ask for a run's end."""
        return self._one(RunOut, "POST", f"/runs/{id}/stop", again=True)

    def consent(self, id: str) -> RunOut:
        """Agree that a training on a node that is drained is ended when the notice is over."""
        return self._one(RunOut, "POST", f"/runs/{id}/consent", again=True)

    def service(self, id: str) -> ServiceOut:
        """Return what there is of a service."""
        return self._one(ServiceOut, "GET", f"/runs/{id}/service")

    def scale(self, id: str, replicas: int) -> ServiceOut:
        """Set how many replicas a service shall have."""
        return self._one(ServiceOut, "POST", f"/runs/{id}/scale", json={"replicas": replicas}, again=True)

    def why(self, id: str) -> Why:
        """Return why a run is where it is."""
        return self._one(Why, "GET", f"/runs/{id}/why")

    def pods(self, id: str) -> list[PodOut]:
        """Return a run's pods."""
        return self._list(PodOut, f"/runs/{id}/pods")

    def logs(
        self, id: str, *, tail: int = 1000, since: datetime | None = None, pod: str | None = None
    ) -> list[Line]:
        """Return the newest lines of a run's log."""
        params = {"tail": tail, "since": _time(since), "pod": pod, "format": "json"}
        answer = self._send.send("GET", f"/runs/{id}/logs", params=params)
        found = (_row(row) for row in answer.content.split(b"\n") if row.strip())
        return [line for line in found if isinstance(line, Line)]

    def follow(self, id: str, *, tail: int = 10, pod: str | None = None) -> Iterator[Line]:
        """Yield a run's lines as they are written until it ends; a connection that is cut is made again.

        Raises:
            ApiError: it may not be read (any more), no source of logs answers, or the site keeps none.
        """
        last: datetime | None = None
        cuts = 0
        while True:
            since = last + timedelta(microseconds=1) if last else None
            try:
                for line in self._followed(id, tail if last is None else 10_000, since, pod):
                    last, cuts = line.time, 0
                    yield line
            except httpx.TransportError as error:
                lost: ApiError = Unreachable(str(self._send.http.base_url), type(error).__name__)
            except ApiError as error:
                lost = error
            else:
                return
            cuts += 1
            if lost.status not in AWAY or cuts > CUTS:
                raise lost
            time.sleep(min(0.2 * 2**cuts, LONGEST_PAUSE))

    def _followed(self, id: str, tail: int, since: datetime | None, pod: str | None) -> Iterator[Line]:
        params = {"follow": "true", "tail": str(tail), "format": "json"}
        params |= {k: v for k, v in (("since", _time(since)), ("pod", pod)) if v is not None}
        timeout = httpx.Timeout(30.0, connect=10.0)
        with self._send.http.stream(
            "GET", f"{PREFIX}/runs/{id}/logs", params=params, headers=self._send.headers(), timeout=timeout
        ) as answer:
            if answer.is_error:
                answer.read()
                raise refusal(answer)
            for row in lines(answer.iter_bytes()):
                found = _row(row) if row.strip() else None
                if found == "end":
                    return
                if isinstance(found, str):
                    # The server has cut it for a reason of its own: asking again tells which, or helps.
                    raise _interrupted(id, found)
                if found is not None:
                    yield found
        raise _interrupted(id, "the connection was closed")

    def queues(self) -> list[QueueOut]:
        """Return all queues."""
        return self._list(QueueOut, "/queues")

    def waiting(self, queue: str) -> list[WaitingOut]:
        """Return what waits in a queue."""
        return self._list(WaitingOut, f"/queues/{queue}/runs")

    def pools(self) -> list[PoolOut]:
        """Return all pools."""
        return self._list(PoolOut, "/pools")

    def images(self) -> list[ImageOut]:
        """Return the images that a definition may name."""
        return self._list(ImageOut, "/images")

    def cluster(self) -> ClusterOut:
        """Return what is available now."""
        return self._one(ClusterOut, "GET", "/cluster")

    def usage(
        self, *, month: str | None = None, group: str | None = None, user: str | None = None
    ) -> UsageReport:
        """Return the usage of a month ``YYYY-MM``; None: of this one."""
        return self._one(UsageReport, "GET", "/usage", params={"month": month, "group": group, "user": user})

    def usage_csv(
        self, *, month: str | None = None, group: str | None = None, user: str | None = None
    ) -> str:
        """Return the usage of a month as CSV."""
        params = {"month": month, "group": group, "user": user, "format": "csv"}
        return self._send.send("GET", "/usage", params=params).text


def _plain(spec: Spec | Mapping[str, Any]) -> Any:
    return spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, Spec) else dict(spec)


def _time(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value else None
