"""Data sets and their files, and folders of the shared file system."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

import httpx

from ava.client.base import Resource
from ava.client.transport import PREFIX, Unreachable, refusal
from ava.domain.problems import ApiError
from ava.schemas.data_sets import DataSetOut, FileOut, FolderOut, HomeOut, ShareOut, UseOut

PIECE = 2**26
"""Bytes of one request of an upload."""
BLOCK = 2**20
CUTS = 10
"""An upload is gone on with after so many cuts without progress at most."""


def encoded_path(path: str | PathLike[str]) -> str:
    """Return a path as the interface takes it: each name percent-encoded byte for byte, whatever it holds."""
    return "/".join(quote_from_bytes(name, safe="") for name in os.fsencode(path).split(b"/"))


def decoded_path(path: str) -> str:
    """Return a path of an answer as the names are; bytes that are no UTF-8 as Python's own file names have them."""
    return os.fsdecode(unquote_to_bytes(path))


class DataSetsApi(Resource):
    """Data sets."""

    def data_sets(self, *, all: bool = False, most: int | None = None) -> Iterator[DataSetOut]:
        """Yield data sets that one may read, newest first; ``all``: everybody's, for administrators."""
        return self._all(DataSetOut, "/data-sets", {"all": all}, most)

    def data_set(self, id: str) -> DataSetOut:
        """Return a data set."""
        return self._one(DataSetOut, "GET", f"/data-sets/{id}")

    def make_data_set(
        self, name: str, source: Mapping[str, Any] | None = None, quota: int | None = None
    ) -> DataSetOut:
        """Make a data set; the same again changes nothing. ``quota``: bytes that it may have; None: as the site says."""
        body: dict[str, Any] = {"name": name, "source": dict(source or {"kind": "folder"})}
        if quota is not None:
            body["quota"] = quota
        return self._one(DataSetOut, "POST", "/data-sets", json=body, again=True)

    def delete_data_set(self, id: str) -> None:
        """Delete a data set with its files; ApiError 409 while a run that has not finished names it."""
        self._send.send("DELETE", f"/data-sets/{id}")

    def share_data_set(self, id: str, kind: Literal["user", "group"], name: str) -> None:
        """Let a user or the members of a group read a data set."""
        self._send.send("POST", f"/data-sets/{id}/shares", json={kind: name}, again=True)

    def unshare_data_set(self, id: str, kind: Literal["user", "group"], name: str) -> None:
        """Take that back."""
        self._send.send("DELETE", f"/data-sets/{id}/shares/{kind}/{name}")

    def data_set_shares(self, id: str) -> list[ShareOut]:
        """Return with whom a data set is shared."""
        return self._list(ShareOut, f"/data-sets/{id}/shares")

    def data_set_runs(self, id: str) -> list[UseOut]:
        """Return the runs that name a data set and have not finished."""
        return self._list(UseOut, f"/data-sets/{id}/runs")

    def limit_data_set(self, id: str, quota: int | None) -> DataSetOut:
        """Choose the limit of a data set, bytes."""
        return self._one(DataSetOut, "PUT", f"/data-sets/{id}/quota", json={"quota": quota})

    def home(self, user: str = "me") -> HomeOut:
        """Return a user's home."""
        return self._one(HomeOut, "GET", f"/users/{user}/storage")

    def limit_home(self, user: str, quota: int | None) -> HomeOut:
        """Choose the limit of a user's home, bytes; None: the site's."""
        return self._one(HomeOut, "PUT", f"/users/{user}/storage", json={"quota": quota})

    def group_folder(self, group: str) -> FolderOut:
        """Return a group's folder."""
        return self._one(FolderOut, "GET", f"/groups/{group}/storage")

    def files(self, id: str, path: str = "", *, most: int | None = None) -> Iterator[FileOut]:
        """Yield entries of a folder of a data set by name; ``path`` is percent-encoded as answers have it."""
        return self._all(FileOut, f"/files/{id}", {"path": path}, most)

    def delete_file(self, id: str, path: str) -> None:
        """Remove a file or an empty folder of a data set; ``path`` is percent-encoded."""
        self._send.send("DELETE", f"/files/{id}", params={"path": path})

    def download(self, id: str, path: str, to: BinaryIO) -> int:
        """Write a file of a data set, ``path`` percent-encoded; return its bytes. ApiError, or Unreachable where it was cut."""
        done = 0
        try:
            with self._send.http.stream(
                "GET", f"{PREFIX}/files/{id}/content", params={"path": path}, headers=self._send.headers()
            ) as answer:
                if answer.is_error:
                    answer.read()
                    raise refusal(answer)
                for piece in answer.iter_bytes(BLOCK):
                    done += to.write(piece)
        except httpx.TransportError as error:
            raise Unreachable(str(self._send.http.base_url), type(error).__name__) from error
        return done

    def begin_upload(self, id: str, path: str, length: int) -> str:
        """Return the address of a new upload, by which it is gone on with, also by another program.

        ``path`` is percent-encoded: of a name ``encoded_path`` makes one.
        """
        name = base64.b64encode(path.encode()).decode("ascii")
        headers = {
            "upload-length": str(length),
            "upload-metadata": f"filename {name}",
            "tus-resumable": "1.0.0",
        }
        # Again: the folder of a new data set comes a moment later. An abandoned upload is removed.
        answer = self._send.send("POST", f"/files/{id}/uploads", headers=headers, again=True)
        return answer.headers["location"].removeprefix(PREFIX)

    def upload(
        self,
        where: str,
        file: Path,
        *,
        replace: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        """Send a file to the address from ``begin_upload``, continuing after an interruption, with a checksum of each part.

        ``progress`` is called with the bytes that have come. Raises ApiError, or Unreachable after many cuts.
        """
        length, cuts, before = file.stat().st_size, 0, -1
        with file.open("rb") as opened:
            while True:
                try:
                    offset = self.upload_offset(where)
                    progress(offset)
                    cuts = 0 if offset > before else cuts
                    before = offset
                    opened.seek(offset)
                    if self._part(where, opened.read(min(PIECE, length - offset)), offset, replace) >= length:
                        progress(length)
                        return
                except ApiError as refused:
                    # Cut off, a server that starts again, a part that another try of ours still holds.
                    if refused.status not in (423, 460, 502, 503, 504) and not isinstance(
                        refused, Unreachable
                    ):
                        raise
                    cuts += 1
                    if cuts > CUTS:
                        raise

    def upload_offset(self, where: str) -> int:
        """Return how many bytes of an upload have come."""
        return int(self._send.send("HEAD", where, again=True).headers["upload-offset"])

    def _part(self, where: str, content: bytes, offset: int, replace: bool) -> int:
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")
        headers = {
            "content-type": "application/offset+octet-stream",
            "upload-offset": str(offset),
            "upload-checksum": f"sha256 {digest}",
            "tus-resumable": "1.0.0",
        }
        if replace:
            headers["upload-replace"] = "1"
        try:
            answer = self._send.http.request(
                "PATCH", PREFIX + where, content=content, headers=self._send.headers(headers)
            )
        except httpx.TransportError as error:
            raise Unreachable(str(self._send.http.base_url), type(error).__name__) from error
        if answer.is_error:
            raise refusal(answer)
        return int(answer.headers["upload-offset"])
