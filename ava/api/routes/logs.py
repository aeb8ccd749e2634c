"""Logs of a run's pods, kept ones and as they are written."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.encoding import encode
from ava.schemas.logs import LogQuery
from ava.services.logs import run_logs
from ava.services.logs.interface import LogLine
from ava.services.logs.run_logs import Write

routes = router("logs")


@routes.get(
    "/runs/{id}/logs",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}, "application/x-ndjson": {}}}},
)
async def logs(
    id: Ref, context: CurrentContext, caller: Someone, query: Annotated[LogQuery, Query()]
) -> Response:
    """Return the lines of a run's pods; with ``follow`` they come as they are written, until the run ends."""
    log = await run_in_threadpool(run_logs.find_log, context, caller, id, query.pod)
    write, kind = _form(query, several=log.several)
    if query.follow:
        # The answer's head is sent before the generator begins: what is refused is refused here.
        run_logs.check_streams(context, caller)
        return StreamingResponse(run_logs.follow(context, caller, log, query, write), media_type=kind)
    lines = await run_logs.read(context, log, query)
    return Response(b"".join(write(line) for line in lines), media_type=kind)


def _form(query: LogQuery, *, several: bool) -> tuple[Write, str]:
    """Return how a line is written, and the answer's media type."""

    def as_json(line: LogLine) -> bytes:
        return encode({"time": _time(line), "pod": line.pod, "text": line.text}) + b"\n"

    def as_text(line: LogLine) -> bytes:
        head = (f"{_time(line)} " if query.timestamps else "") + (f"{line.pod} | " if several else "")
        return f"{head}{line.text}\n".encode("utf-8", "replace")

    return (
        (as_json, "application/x-ndjson")
        if query.format == "json"
        else (as_text, "text/plain; charset=utf-8")
    )


def _time(line: LogLine) -> str:
    return line.time.isoformat(timespec="microseconds").replace("+00:00", "Z")
