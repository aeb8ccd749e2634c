"""Ends what owners send beyond their space, while it comes, without a word to anybody else's. Python 3.5 or later.

A push is let in by a token, and docker's protocol tells no size before: so what is being sent is looked at as it grows. An
upload that is cut has its folder moved away first, by one rename. The registry finds it no more and refuses its end, whatever
has come; only then its bytes are given back. The other way about a layer with holes could get the name of a whole one.
"""

import os
import shutil
import tempfile
import time

from .account import Account, limit
from .storage import folders

AWAY = "avadm-cut"
"""Folder beside the registry's own, on its file system."""
KEPT_S = 24 * 3600
"""For so long what was moved away is there at least, and as long as the registry writes to it; it is emptied at each look."""


def room(root, percent):
    """Whether so much of the file system is free to others than root, as df counts."""
    seen = os.statvfs(root)
    used = seen.f_blocks - seen.f_bfree
    return 100 * seen.f_bavail >= percent * (used + seen.f_bavail)


def look(storage, limits, percent, note):
    """Cut the uploads of each owner who has more than they may, of all where there is no room; give back what was cut before."""
    short = not room(storage.root, percent)
    for owner in storage.owners():
        try:
            look_at(storage, owner, limit(owner, limits), percent, note, short)
        except Exception as error:
            # What one owner has sent must not keep the others' uploads from being looked at.
            note("%s: what is being sent cannot be looked at: %s: %s" % (owner, type(error).__name__, error))
    empty(storage.root, time.time())


def look_at(storage, owner, most, percent, note, short):
    """Cut the uploads of one owner who has more than `most`, or where there is no room."""
    if most is None and not short:
        return
    # All of them, however many repositories there are: an account stops counting somewhere.
    uploads = [one for _, path in storage.repositories(owner) for one in storage.uploads(path)]
    if not uploads:
        return
    account = Account(storage, owner)
    if most is not None and account.used <= most and not account.countless and not short:
        return
    for upload in uploads:
        if away(storage.root, upload):
            why = "less than %d %% of the disk is free" % percent if short else "of %d" % most
            note("%s has %d bytes, %s: an upload was cut" % (owner, account.used, why))


def away(root, upload):
    """Move an upload away; whether it was still there."""
    place = os.path.join(root, AWAY)
    if not os.path.isdir(place):
        os.mkdir(place, 0o700)
    # A rename takes the place of an empty folder, and of nothing else.
    moved = tempfile.mkdtemp(prefix="", dir=place)
    try:
        os.rename(upload, moved)
    except FileNotFoundError:
        os.rmdir(moved)
        return False
    os.utime(moved)
    return True


def empty(root, now):
    """Give back the bytes of what was moved away, and remove it once no one can write to it any more."""
    place = os.path.join(root, AWAY)
    for name in folders(place):
        moved = os.path.join(place, name)
        try:
            if now - os.lstat(moved).st_mtime > KEPT_S and not is_open(moved):
                shutil.rmtree(moved, ignore_errors=True)
                continue
            os.truncate(os.path.join(moved, "data"), 0)
        except OSError:
            # Not there, or nothing that can be emptied now: it is looked at again, and the others have their turn.
            pass


def is_open(folder, processes="/proc"):
    """Whether a process of this user, as the registry is one, has a file of a folder open: what has no name cannot be emptied."""
    for process in folders(processes):
        place = os.path.join(processes, process, "fd")
        try:
            names = os.listdir(place) if process.isdigit() else []
        except OSError:
            continue
        for name in names:
            try:
                if os.readlink(os.path.join(place, name)).startswith(folder + os.sep):
                    return True
            except OSError:
                pass
    return False
