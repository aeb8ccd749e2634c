"""Files of data sets that are folders: shown, read, sent in pieces, put in place, removed."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime

from starlette.concurrency import run_in_threadpool

from ava.db.database import Database
from ava.domain.data_sets import DataSet, Upload
from ava.domain.folders import DATA, TOP, FolderKind
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict, missing
from ava.files import errors, paths, safe_fs
from ava.files.filesystem import Filesystem, WrongFilesystem
from ava.files.folders import UPLOADS

PIECE = 2**20
"""Bytes that are read or written at once."""
CHECKSUMS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}
"""tus wants sha1 to be among them; it guards against errors on the way, not against people."""


class ChecksumDiffers(ApiError):
    """What came is not what was sent."""


class DataSetFiles:
    """Files of data sets.

    Args:
        folder_gid: group of files that are put in place.
    """

    def __init__(self, db: Database, ground: Filesystem, folder_gid: int = 0) -> None:
        self.db, self.ground, self.gid = db, ground, folder_gid

    @contextmanager
    def inside(self, one: DataSet, part: str = DATA) -> Iterator[int]:
        """Give a descriptor of a part of a data set's folder; ApiError 409 or 503 where it is not available now."""
        if one.source["kind"] != "folder":
            what = Phrase("The files of {name} lie elsewhere and are read in runs alone.", name=one.name)
            raise conflict("data-set-elsewhere", what, Phrase("data set"), Phrase("Name it in a run."))
        try:
            with ExitStack() as opened:
                root = opened.enter_context(self.ground.root())
                try:
                    here = opened.enter_context(safe_fs.walk(root, [TOP[FolderKind.DATA_SET], one.id, part]))
                except FileNotFoundError:
                    raise errors.not_made() from None
                yield here
        except WrongFilesystem as error:
            raise errors.unavailable(str(error)) from error
        except OSError as error:
            raise errors.of_system(error, one) from error

    @contextmanager
    def reading(self, one: DataSet, path: str) -> Iterator[int]:
        """Give a descriptor of a regular file, to be closed by who takes it over with ``os.dup``."""
        names = paths.parts(path)
        with self.inside(one) as data, safe_fs.walk(data, names[:-1]) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(names[-1] if names else b".", flags, dir_fd=folder)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise missing("file of this name", "query.path")
                yield file
            finally:
                os.close(file)

    @staticmethod
    def begin(folder: int, upload: Upload) -> None:
        """Make an upload's file, empty, in the folder of a data set's uploads (`inside`)."""
        os.close(os.open(upload.id, _WRITE | os.O_CREAT, 0o600, dir_fd=folder))

    def offset(self, one: DataSet, upload: Upload) -> int:
        """Return how many bytes of an upload have come; all where it is in its place."""
        with self.inside(one, UPLOADS) as folder:
            try:
                return os.stat(upload.id, dir_fd=folder, follow_symlinks=False).st_size
            except FileNotFoundError:
                # It was made before it was reported: so it is in its place, and anyone who put it there died then.
                return upload.length

    async def receive(
        self, one: DataSet, upload: Upload, offset: int, body: AsyncIterator[bytes], checksum: str | None
    ) -> int:
        """Append what comes, and return the offset after it; what has come before a cut is kept.

        Raises:
            ApiError: 409 where the offset is another one or the limit is reached; 423 while somebody else sends;
                ChecksumDiffers where the checksum is another one, after which nothing of it is kept.
        """
        if offset == upload.length == await run_in_threadpool(self.offset, one, upload):
            return offset
        file = await run_in_threadpool(self._locked, one, upload)
        try:
            return await self._append(file, one, upload, offset, body, checksum)
        finally:
            await run_in_threadpool(os.close, file)

    def _locked(self, one: DataSet, upload: Upload) -> int:
        with self.inside(one, UPLOADS) as folder:
            file = os.open(upload.id, _WRITE, dir_fd=folder)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            what = Phrase("This file is being sent by somebody else now.")
            raise ApiError(
                423, Problem("upload-busy", what, "upload", remedy=Phrase("Try again soon."))
            ) from None
        return file

    async def _append(
        self,
        file: int,
        one: DataSet,
        upload: Upload,
        offset: int,
        body: AsyncIterator[bytes],
        checksum: str | None,
    ) -> int:
        there = os.fstat(file).st_size
        if offset != there:
            raise conflict(
                "offset-other",
                Phrase("Another part of this file comes next."),
                "header Upload-Offset",
                Phrase("Ask with HEAD how much has come."),
                found=str(offset),
                wanted=str(there),
            )
        digest, wanted = _checksum(checksum)
        whole = False
        try:
            async for piece in body:
                if there + len(piece) > upload.length:
                    raise ApiError(
                        413,
                        Problem(
                            "upload-longer",
                            Phrase("More comes than was announced."),
                            "body",
                            Phrase("more than {size} bytes", size=upload.length),
                            Phrase("{size} bytes", size=upload.length),
                        ),
                    )
                if digest is not None:
                    digest.update(piece)
                try:
                    await run_in_threadpool(_write, file, piece, there)
                except OSError as error:
                    raise errors.of_system(error, one) from error
                there += len(piece)
            whole = True
            if digest is not None and not hmac.compare_digest(digest.digest(), wanted):
                whole = False
                raise ChecksumDiffers(
                    400,
                    Problem(
                        "checksum-other",
                        Phrase("What came is not what was sent."),
                        "body",
                        remedy=Phrase("Send this part again."),
                    ),
                )
        finally:
            if digest is not None and not whole:
                await run_in_threadpool(os.ftruncate, file, offset)
                there = offset
            with suppress(OSError):
                await run_in_threadpool(os.fsync, file)
        return there

    def publish(self, one: DataSet, upload: Upload, uid: int, *, replace: bool) -> None:
        """Put a file that has come whole into its place, at once and whole, while no run has the data set.

        ApiError 409 while a run has it, or where something is there; what has come stays and may be put in place later.
        """
        self.db.data_sets.while_unused(
            one.id, lambda still: self._place(one, upload, uid, still, replace=replace)
        )
        self.db.uploads.delete(upload.id)

    def _place(
        self, one: DataSet, upload: Upload, uid: int, still: Callable[[], None], *, replace: bool
    ) -> None:
        names = paths.parts(upload.path, new=True)
        with self.inside(one, UPLOADS) as sent, self.inside(one) as data:
            try:
                file = os.open(upload.id, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=sent)
            except FileNotFoundError:
                # Killed after the file was in its place: there is nothing left to do.
                return
            try:
                os.fchown(file, uid, self.gid)
                os.fchmod(file, 0o644)
            finally:
                os.close(file)
            with safe_fs.walk(data, names[:-1], make=(0o755, uid, self.gid)) as folder:
                self._free(folder, names[-1], replace=replace)
                still()
                os.rename(upload.id, names[-1], src_dir_fd=sent, dst_dir_fd=folder)

    def absent(self, one: DataSet, path: str) -> None:
        """Return where nothing is at a path of a new file; ApiError 409 else."""
        names = paths.parts(path, new=True)
        try:
            with self.inside(one) as data, safe_fs.walk(data, names[:-1]) as folder:
                self._free(folder, names[-1], replace=False)
        except ApiError as refused:
            if refused.status != 404:
                raise

    @staticmethod
    def _free(folder: int, name: bytes, *, replace: bool) -> None:
        try:
            there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not replace or not stat.S_ISREG(there.st_mode):
            raise conflict(
                "file-there",
                Phrase("There is something of this name already."),
                "path",
                Phrase("Choose another name, or say that a file is to be replaced."),
                found=paths.label(name),
            )

    def give_up(self, one: DataSet, upload: Upload) -> None:
        """Remove what has come of a file."""
        with self.inside(one, UPLOADS) as folder, suppress(FileNotFoundError):
            os.unlink(upload.id, dir_fd=folder)
        self.db.uploads.delete(upload.id)

    def give_up_stale(self, before: datetime) -> None:
        """Give up uploads that began before a time and to which nothing has come since."""
        for upload in self.db.uploads.list_stale(before):
            one = self.db.data_sets.get(upload.data_set)
            with self.inside(one, UPLOADS) as folder:
                try:
                    last = os.stat(upload.id, dir_fd=folder, follow_symlinks=False).st_mtime
                except FileNotFoundError:
                    last = 0.0
            if last < before.timestamp():
                self.give_up(one, upload)

    def remove(self, one: DataSet, path: str) -> None:
        """Remove a file, a link or an empty folder while no run has the data set; ApiError 404, 409."""
        names = paths.parts(path)

        def gone(still: Callable[[], None]) -> None:
            with self.inside(one) as data, safe_fs.walk(data, names[:-1]) as folder:
                about = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
                still()
                (os.rmdir if stat.S_ISDIR(about.st_mode) else os.unlink)(names[-1], dir_fd=folder)

        if not names:
            raise conflict(
                "path-invalid",
                Phrase("This names the data set itself."),
                "query.path",
                Phrase("Delete the data set."),
            )
        self.db.data_sets.while_unused(one.id, gone)


_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def _write(file: int, piece: bytes, at: int) -> None:
    view = memoryview(piece)
    while view:
        done = os.pwrite(file, view, at)
        view, at = view[done:], at + done


def _checksum(header: str | None) -> tuple[hashlib._Hash | None, bytes]:
    if header is None:
        return None, b""
    name, _, text = header.partition(" ")
    try:
        return CHECKSUMS[name](), base64.b64decode(text, validate=True)
    except (KeyError, ValueError):
        raise ApiError(
            400,
            Problem(
                "checksum-unknown",
                Phrase("This is no checksum."),
                "header Upload-Checksum",
                wanted=Phrase("sha256 or sha1, a space, base64"),
            ),
        ) from None
