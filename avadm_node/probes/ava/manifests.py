"""The manifests by which a version of AVA was rolled out, kept on masters so that a failed upgrade can go back to them."""

from __future__ import absolute_import

import os
import re
import shutil

WRITTEN = "/etc/kubernetes"
KEPT = "/var/lib/avadm/ava"
NAMES = ("ava-base.yml", "ava.yml")
"""Rights, configuration and policies; what runs. Secrets and the migration are those of no version."""
TAG = re.compile(r"^[0-9A-Za-z][0-9A-Za-z._-]{0,127}\Z")
IMAGE = re.compile(r"^\s*(?:- )?image: \S+/avadm/ava:(\S+)\s*$", re.MULTILINE)
MOST = 3  # versions that are kept


def ask(params, written=WRITTEN, kept=KEPT):
    """Return the tag of the image in the manifests that were written last ("" for none, or several), and those that are kept.

    Args:
        params: nothing.

    Returns:
        written (a tag), kept (tags, the last one first).
    """
    return {"written": _tag(written), "kept": _kept(kept)}


def keep(params, written=WRITTEN, kept=KEPT):
    """Keep the manifests that were written last, if they are of a tag and not kept yet; return whether they are kept now.

    Args:
        params: tag.
    """
    tag = params["tag"]
    if not TAG.match(tag):
        raise ValueError("this is no tag of an image: %r" % (tag,))
    if tag in _kept(kept):
        # As the last one.
        os.utime(os.path.join(kept, tag), None)
        return {"kept": True}
    if _tag(written) != tag:
        return {"kept": False}
    if not os.path.isdir(kept):
        os.makedirs(kept)
    os.chmod(kept, 0o700)
    work = os.path.join(kept, ".work")
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work, 0o700)
    for name in NAMES:
        shutil.copyfile(os.path.join(written, name), os.path.join(work, name))
        _sync(os.path.join(work, name))
    shutil.rmtree(os.path.join(kept, tag), ignore_errors=True)
    os.rename(work, os.path.join(kept, tag))
    _sync(kept)
    for old in _kept(kept)[MOST:]:
        shutil.rmtree(os.path.join(kept, old), ignore_errors=True)
    return {"kept": True}


def _kept(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [
        name
        for name in names
        if TAG.match(name) and all(os.path.isfile(os.path.join(folder, name, one)) for one in NAMES)
    ]
    return sorted(found, key=lambda name: os.stat(os.path.join(folder, name)).st_mtime, reverse=True)


def _tag(folder):
    try:
        if not os.path.isfile(os.path.join(folder, NAMES[0])):
            return ""
        with open(os.path.join(folder, NAMES[1])) as source:
            tags = set(IMAGE.findall(source.read()))
    except (OSError, IOError):
        return ""
    return tags.pop() if len(tags) == 1 else ""


def _sync(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
