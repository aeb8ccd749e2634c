"""What users ask of data sets' files, behind the same name and login as the API, below ``/api/v1/files``.

Files are sent by tus 1.0.0 (tus.io: core, creation, checksum, termination), so that an upload that was cut continues where it
was, by any of its clients.
"""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp

from ava import __version__
from ava.db.database import Database
from ava.domain.data_sets import DataSet, Upload
from ava.domain.model import Page
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.files import paths, safe_fs
from ava.files.config import Config
from ava.files.data_set_files import PIECE, ChecksumDiffers, DataSetFiles
from ava.files.filesystem import Filesystem
from ava.files.folders import UPLOADS
from ava.files.listing import Entry, Listing
from ava.files.metrics import Metrics
from ava.http import errors
from ava.http.dependencies import CurrentContext, Someone
from ava.http.middleware import Middleware
from ava.http.responses import Json
from ava.http.routing import Ref, router
from ava.schemas.common import Paged, PageQuery
from ava.schemas.data_sets import FileOut
from ava.services import pagination
from ava.services.auth.authorization import record_change
from ava.services.auth.caller import Caller
from ava.services.auth.encryption import sealer
from ava.services.config import Config as ApiConfig
from ava.services.context import Context
from ava.services.context import new_context as made
from ava.services.data_sets import find_changeable, find_readable
from ava.services.lookup import find

PREFIX = "/api/v1/files"
LARGEST = 2**30
"""Bytes of one request: a larger file is sent in several."""
LONGEST = 2**46
TUS = {"tus-resumable": "1.0.0", "cache-control": "no-store"}
MEDIA = "application/offset+octet-stream"
routes = router("files")


class FilesQuery(PageQuery):
    """Which folder of a data set: names with ``/``, percent-encoded as answers have them; empty: the uppermost one."""

    path: str = ""


class PathQuery(FilesQuery):
    """Which file."""


def services(db: Database, config: Config) -> Context:
    """Return what the API's parts work with."""
    api = ApiConfig(sealing_key=config.sealing_key, trusted_proxies=config.trusted_proxies)
    return made(db, api, sealer(config.sealing_key))


def application(services: Context, ground: Filesystem, config: Config, metrics: Metrics) -> ASGIApp:
    """Return the application as it is served."""
    app = FastAPI(
        title="AVA files",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.files = DataSetFiles(services.db, ground, ground.gid)
    app.state.listing = Listing(config.scratch)
    app.state.metrics = metrics
    app.include_router(routes, prefix=PREFIX)
    errors.install(app)
    return Middleware(app, config.trusted_proxies, LARGEST)


def _upload(context: Context, caller: Caller, ref: str) -> tuple[DataSet, Upload]:
    upload = find(context.db.uploads.get, "upload", ref, "path.id")
    return find_changeable(context, caller, upload.data_set), upload


def _files(request: Request) -> DataSetFiles:
    files: DataSetFiles = request.app.state.files
    return files


@routes.get("/{id}")
def list_files(
    id: Ref, context: CurrentContext, caller: Someone, query: Annotated[FilesQuery, Query()], request: Request
) -> Paged[FileOut]:
    """Return a folder's entries by name; links are shown and never followed."""
    one = find_readable(context, caller, id)
    names = paths.parts(query.path)
    scope = f"files {one.id} {query.path}"
    after = pagination.opened(context, caller, query, scope)
    listing: Listing = request.app.state.listing
    with _files(request).inside(one) as data, safe_fs.walk(data, names) as here:
        place = None if after is None else bytes.fromhex(after)
        entries, following = listing.page(here, place, query.limit, caller.me.name)
    page = Page(tuple(entries), None if following is None else following.hex())

    def shape(entry: Entry) -> FileOut:
        path = paths.encode([*names, entry.name])
        return FileOut(
            name=paths.label(entry.name), path=path, kind=entry.kind, size=entry.size, changed=entry.changed
        )

    return pagination.page(context, caller, page, scope, shape)


@routes.get("/{id}/content")
def read_file(
    id: Ref, context: CurrentContext, caller: Someone, query: Annotated[PathQuery, Query()], request: Request
) -> Response:
    """Return a file's bytes, as something to be kept and never to be shown by a browser as a page of this site."""
    one = find_readable(context, caller, id)
    with _files(request).reading(one, query.path) as opened:
        # Closed with the last reference, also where no one waits for the answer any more.
        file = os.fdopen(os.dup(opened), "rb", buffering=0)
    size = os.fstat(file.fileno()).st_size

    async def pieces() -> AsyncIterator[bytes]:
        try:
            at = 0
            while at < size:
                piece = await run_in_threadpool(os.pread, file.fileno(), min(PIECE, size - at), at)
                if not piece:
                    return
                at += len(piece)
                yield piece
        finally:
            file.close()

    head = {"content-disposition": "attachment", "content-length": str(size)}
    return StreamingResponse(pieces(), media_type="application/octet-stream", headers=head)


@routes.delete("/{id}", status_code=204)
def delete_file(
    id: Ref, context: CurrentContext, caller: Someone, query: Annotated[PathQuery, Query()], request: Request
) -> None:
    """Remove a file or an empty folder while no run has the data set."""
    one = find_changeable(context, caller, id)
    with record_change(context, caller, "data-sets.change", f"data set {one.id}", removed=query.path[:200]):
        _files(request).remove(one, query.path)


@routes.post("/{id}/uploads", status_code=201)
def begin_upload(id: Ref, context: CurrentContext, caller: Someone, request: Request) -> Response:
    """Begin to send a file: Upload-Length, and in Upload-Metadata ``filename`` (its path).

    ``replace`` 0 there: refused at once where something of this name is there, not only when all has come.
    """
    one = find_changeable(context, caller, id)
    length = _number(request, "upload-length", LONGEST)
    reply = _metadata(request)
    path = reply.get("filename", "")
    # Kept as sent, after validation; what replaces a file is named when it is put in place.
    paths.parts(path, new=True)
    if reply.get("replace") == "0":
        _files(request).absent(one, path)
    change = record_change(
        context, caller, "data-sets.change", f"data set {one.id}", upload=path[:200], length=length
    )
    # The folder first: nothing is begun where there is no place for it.
    with _files(request).inside(one, UPLOADS) as folder, change:
        upload = context.db.uploads.create(one.id, caller.me.name, path, length, context.clock())
        DataSetFiles.begin(folder, upload)
    return Response(None, 201, TUS | {"location": f"{PREFIX}/uploads/{upload.id}", "upload-offset": "0"})


@routes.head("/uploads/{id}")
def show_upload(id: Ref, context: CurrentContext, caller: Someone, request: Request) -> Response:
    """Return how much of a file has come."""
    one, upload = _upload(context, caller, id)
    report = {"upload-offset": str(_files(request).offset(one, upload)), "upload-length": str(upload.length)}
    return Response(None, 200, TUS | report)


@routes.patch("/uploads/{id}", status_code=204)
async def send_part(id: Ref, context: CurrentContext, caller: Someone, request: Request) -> Response:
    """Append a part; with the last one the file is put in its place, where nothing may be unless it is to be replaced.

    Where a run has the data set then it is 409 and what has come stays: an empty part puts the file in place later.
    """
    if request.headers.get("content-type", "") != MEDIA:
        raise ApiError(
            415,
            Problem("media-type", Phrase("This is no part of a file."), "header Content-Type", wanted=MEDIA),
        )
    one, upload = await run_in_threadpool(_upload, context, caller, id)
    offset = _number(request, "upload-offset", LONGEST)
    files, checksum = _files(request), request.headers.get("upload-checksum")
    try:
        after = await files.receive(one, upload, offset, request.stream(), checksum)
    except ChecksumDiffers as differs:
        answer = errors.of_refusal(differs, request.url.path)
        # tus' own number, which HTTP does not know.
        answer.status_code = 460
        return answer
    request.app.state.metrics.received.inc(after - offset)
    if after == upload.length:
        replace = request.headers.get("upload-replace", "") == "1"
        await run_in_threadpool(_publish, context, caller, files, one, upload, replace)
    return Response(None, 204, TUS | {"upload-offset": str(after)})


def _publish(
    context: Context, caller: Caller, files: DataSetFiles, one: DataSet, upload: Upload, replace: bool
) -> None:
    uid = context.db.users.get(one.owner).uid
    with record_change(
        context, caller, "data-sets.change", f"data set {one.id}", file=upload.path[:200], bytes=upload.length
    ):
        files.publish(one, upload, uid, replace=replace)


@routes.delete("/uploads/{id}", status_code=204)
def give_up(id: Ref, context: CurrentContext, caller: Someone, request: Request) -> Response:
    """Give up an upload."""
    one, upload = _upload(context, caller, id)
    _files(request).give_up(one, upload)
    return Response(None, 204, TUS)


def _number(request: Request, name: str, most: int) -> int:
    text = request.headers.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) <= most):
        raise ApiError(
            400,
            Problem(
                "header-invalid",
                Phrase("A number is missing or out of range."),
                f"header {name}",
                text[:40] or Phrase("nothing"),
                f"0 to {most}",
                Phrase("Say it (tus 1.0.0)."),
            ),
        )
    return int(text)


def _metadata(request: Request) -> dict[str, str]:
    """Return tus' Upload-Metadata: names and base64, by commas."""
    found: dict[str, str] = {}
    for pair in request.headers.get("upload-metadata", "").split(","):
        name, _, text = pair.strip().partition(" ")
        try:
            found[name] = base64.b64decode(text, validate=True).decode("utf-8")
        except ValueError:
            raise ApiError(
                400,
                Problem(
                    "header-invalid",
                    Phrase("This is no metadata."),
                    "header Upload-Metadata",
                    name[:40],
                    Phrase("names with base64 of UTF-8"),
                    Phrase("Say it as tus 1.0.0 does."),
                ),
            ) from None
    return found
