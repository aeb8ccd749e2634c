"""What pages load: our own style and scripts, and other people's scripts, which are put into the image as they are published."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

OWN = Path(__file__).with_name("static")
PLACE = Path(os.environ.get("AVA_WEB_SCRIPTS", "/usr/share/ava/web"))
"""Where other people's scripts are: in the image, or where a developer says (artifact ava-scripts has them)."""
CLIENT = Path(os.environ.get("AVA_CLIENT_WHEEL", "/usr/share/ava/client"))
"""Folder with the wheel of the distribution ava-client: in the image, or where a developer says."""
VENDORED = ("htmx.min.js", "tus.min.js", "uPlot.iife.min.js", "uPlot.min.css")
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
}
"""An address holds a digest of what is there, so it never changes."""
routes = APIRouter()


@cache
def found() -> dict[str, tuple[bytes, str]]:
    """Return content and digest by name, read once."""
    files = {path.name: path for path in sorted(OWN.iterdir()) if path.suffix in KINDS}
    files |= {name: PLACE / name for name in VENDORED if (PLACE / name).is_file()}
    read = {name: path.read_bytes() for name, path in files.items()}
    return {name: (body, hashlib.sha256(body).hexdigest()[:12]) for name, body in read.items()}


def address(name: str) -> str:
    """Return where a page loads a file from."""
    return f"/static/{found().get(name, (b'', 'none'))[1]}/{name}"


@routes.get("/static/{digest}/{name}", include_in_schema=False)
def asset(digest: str, name: str) -> Response:
    """Return a file; only what is listed, so that no path leads out of the folder."""
    body, held = found().get(name, (b"", ""))
    if not held or digest != held:
        raise HTTPException(404)
    return Response(body, headers=HEADERS, media_type=KINDS[Path(name).suffix])


def client_wheel() -> Path | None:
    """Return the wheel of the command line that users install, None where this AVA has none."""
    return next(iter(sorted(CLIENT.glob("ava_client-*.whl"))), None)


@routes.get("/client/{name}", include_in_schema=False)
def download(name: str) -> Response:
    """Return the wheel to anyone: pip and curl have no session."""
    wheel = client_wheel()
    if wheel is None or name != wheel.name:
        raise HTTPException(404)
    headers = {"content-disposition": f'attachment; filename="{wheel.name}"'}
    return Response(wheel.read_bytes(), headers=headers, media_type="application/zip")
