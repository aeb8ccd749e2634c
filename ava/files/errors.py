"""What is answered where files are not available: the file system is away, full, or has no such name."""

from __future__ import annotations

import errno

from ava.domain.data_sets import DataSet
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict, missing


def unavailable(what: str) -> ApiError:
    """Return the refusal while the file system is not there."""
    return ApiError(
        503,
        Problem(
            "storage-unavailable",
            Phrase("Shared storage is unavailable."),
            "storage",
            what[:300],
            Phrase("cephfs, mounted"),
            Phrase("Try again; an administrator sees why."),
        ),
    )


def not_made() -> ApiError:
    """Return the refusal while the folder of a new data set has not been made."""
    return ApiError(
        503,
        Problem(
            "folder-not-made",
            Phrase("The folder of this data set has not been made yet."),
            "data set",
            remedy=Phrase("Try again soon; where it lasts, an administrator sees why."),
        ),
    )


def of_system(error: OSError, one: DataSet) -> ApiError:
    """Return what an error of the file system means for who asked."""
    if error.errno in (errno.EDQUOT, errno.ENOSPC):
        what = Phrase("The data set {name} has reached its limit, or the file system is full.", name=one.name)
        return conflict(
            "storage-full", what, Phrase("data set"), Phrase("Remove something, or ask for more.")
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR):
        # A link among the names looks as if nothing were there.
        return missing(Phrase("file or folder of this name"), "path")
    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
        return conflict(
            "folder-not-empty",
            Phrase("The folder is not empty."),
            "path",
            Phrase("Remove what is in it first."),
        )
    return unavailable(error.strerror or "an error")
