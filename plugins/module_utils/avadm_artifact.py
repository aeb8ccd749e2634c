# Runs on nodes: python 2.7 and 3.
"""Large files of the controller's artifact cache: what a node lacks, and putting in place what was pushed."""

from __future__ import absolute_import, division, print_function

import glob
import hashlib
import os
import pwd
import shutil
import stat

# Root's own folder: no one can put a link in the way.
INCOMING = "/var/lib/avadm/incoming"
_BLOCK = 1 << 20
# What runs may not have been restarted yet since the last time, or the time before.
VERSIONS = 3


class ArtifactError(Exception):
    """The file is not available; the text is for people."""


def sha256(path):
    """Return the digest of a file's bytes; None where there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as handle:
            for block in iter(lambda: handle.read(_BLOCK), b""):
                digest.update(block)
    except (IOError, OSError):
        return None
    return digest.hexdigest()


def folder_of(files):
    """Return the folder to which these files are pushed; phases that run at once have different ones."""
    paths = "\n".join(one["path"] for one in files)
    return os.path.join(INCOMING, hashlib.sha256(paths.encode("utf-8")).hexdigest()[:16])


def settle(one, incoming):
    """Put what was pushed in its place, if it is what was to come; raise ArtifactError if not."""
    path, wanted = one["path"], one["artifact"]["sha256"]
    source = os.path.join(incoming, wanted)
    found = sha256(source)
    if found != wanted:
        raise ArtifactError(
            "%s did not arrive whole: sha256 %s, wanted %s. Remedy: `avadm artifacts verify` on the controller,"
            " see the space below /var/lib here, and run this again." % (path, found or "of no file", wanted)
        )
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    beside = path + ".avadm-new"
    # The folder may be another file system, from which nothing can be renamed.
    shutil.move(source, beside)
    os.chown(beside, 0, 0)
    os.chmod(beside, int(one["mode"], 8))
    os.rename(beside, path)
    for old in newest(one["artifact"].get("versions"))[VERSIONS:]:
        os.unlink(old)


def newest(pattern):
    """Return the files of a pattern, the last that was written first; none for no pattern."""
    return sorted(
        glob.glob(pattern) if pattern else [], key=lambda path: os.stat(path).st_mtime, reverse=True
    )


def ensure(files, pushed, login, check_mode, incoming=None):
    """Return (changed, path to the place to push for each file that is missing)."""
    incoming = incoming or folder_of(files)
    changed = False
    for one in files:
        if one["path"] in pushed:
            settle(one, incoming)
            changed = True
    missing = {}
    for one in files:
        path, mode = one["path"], int(one["mode"], 8)
        if one["path"] in pushed:
            continue
        if sha256(path) != one["artifact"]["sha256"]:
            missing[path] = os.path.join(incoming, one["artifact"]["sha256"])
        elif stat.S_IMODE(os.stat(path).st_mode) != mode:
            changed = True
            if not check_mode:
                os.chmod(path, mode)
    if not check_mode:
        _open(missing, login, incoming)
    return changed, missing


def _open(missing, login, incoming):
    """Make the folder to which files are pushed, of the user of the connection; or remove it."""
    if os.path.isdir(incoming):
        shutil.rmtree(incoming)
    if missing:
        os.makedirs(incoming, 0o755)
        user = pwd.getpwnam(login)
        os.chown(incoming, user.pw_uid, user.pw_gid)
        os.chmod(incoming, 0o700)
