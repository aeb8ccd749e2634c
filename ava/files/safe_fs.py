"""Work on a file system in which hostile people write at the same time.

Nothing is reached by a path of several names: each folder is opened from the one above it, and a link is never followed
(openat(2) with O_NOFOLLOW). Names that users chose are used as bytes, whatever they hold.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
QUOTA, BYTES, FILES = "ceph.quota.max_bytes", "ceph.dir.rbytes", "ceph.dir.rfiles"
_NONE = (errno.ENODATA, errno.ENOTSUP)


class WrongOwner(Exception):
    """Something is in the way that is not of our making; it was left as it is."""


@contextmanager
def folder(name: str | bytes, at: int | None = None) -> Iterator[int]:
    """Give a descriptor of a folder, from another one; OSError for what is none, a link among it."""
    descriptor = os.open(name, FOLDER, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def walk(
    root: int, names: Sequence[str | bytes], *, make: tuple[int, int, int] | None = None
) -> Iterator[int]:
    """Give the folder that is so many names below another one; ``make`` (mode, uid, gid) makes those that are missing."""
    here = os.dup(root)
    try:
        for name in names:
            if make is not None:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=here)
                    with folder(name, here) as new:
                        os.fchown(new, make[1], make[2])
                        os.fchmod(new, make[0])
            below = os.open(name, FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def keep(at: int, name: str, mode: int, uid: int, gid: int) -> bool:
    """Have a folder with this owner, group and mode; return whether it was made.

    It appears at once with all of these (rename), so that a kill leaves none with other ones. One that is there with
    another owner or group is somebody else's: Foreign. Its mode is the owner's to change where that is not root.
    """
    try:
        with folder(name, at) as there:
            found = os.fstat(there)
            if (found.st_uid, found.st_gid) != (uid, gid):
                raise WrongOwner(f"{name} belongs to {found.st_uid}:{found.st_gid}, not to {uid}:{gid}")
            if uid == 0 and stat.S_IMODE(found.st_mode) != mode:
                os.fchmod(there, mode)
            return False
    except FileNotFoundError:
        pass
    new = f".new-{name}"
    with suppress(FileExistsError):
        os.mkdir(new, 0o700, dir_fd=at)
    with folder(new, at) as made:
        os.fchown(made, uid, gid)
        os.fchmod(made, mode)
    os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
    return True


def quota(at: int) -> int | None:
    """Return the limit of a folder, bytes; None: no limit."""
    try:
        return int(os.getxattr(at, QUOTA)) or None
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise


def set_quota(at: int, limit: int | None) -> None:
    """Set the limit of a folder, bytes; None: none. OSError EACCES or EPERM where this client's key may not."""
    if quota(at) != (limit or None):
        os.setxattr(at, QUOTA, str(limit or 0).encode())


def used(at: int) -> tuple[int, int]:
    """Return bytes and number of all files below a folder, as ceph counts them."""
    return int(os.getxattr(at, BYTES)), int(os.getxattr(at, FILES))


def names(at: int, most: int = 10_000) -> list[bytes]:
    """Return names in a folder, so many at most, in no order."""
    with os.scandir(at) as entries:
        return [os.fsencode(entry.name) for entry in itertools.islice(entries, most)]


def empty(at: int) -> None:
    """Remove everything in a folder of ours into which no one else writes, with what people put deep below.

    However deep and hostile it is, three descriptors and no recursion do: a folder that holds folders gives them up to
    the uppermost one, where their turn comes.
    """
    numbers = itertools.count()
    while there := names(at):
        for name in there:
            if not _is_folder(name, at):
                os.unlink(name, dir_fd=at)
                continue
            with folder(name, at) as inner:
                while below := names(inner):
                    for entry in below:
                        if _is_folder(entry, inner):
                            _move_up(entry, inner, at, numbers)
                        else:
                            os.unlink(entry, dir_fd=inner)
            os.rmdir(name, dir_fd=at)


def _move_up(name: bytes, inner: int, at: int, numbers: Iterator[int]) -> None:
    for number in numbers:
        # rename(2) replaces an empty folder, which is to go anyway.
        try:
            os.rename(name, f"{number}.{os.getpid()}", src_dir_fd=inner, dst_dir_fd=at)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        else:
            return


def _is_folder(name: str | bytes, at: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
