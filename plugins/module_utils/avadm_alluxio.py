# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

"""Alluxio on a node: its machine, the table of mounts, and when a journal may be formatted."""

import os
import re


class AlluxioError(Exception):
    """Something cannot be as it is asked for; the text is for people."""


def memory_mib(text):
    """Return the MiB of a machine's memory from the text of /proc/meminfo."""
    return int(re.search(r"^MemTotal:\s+(\d+) kB", text, re.M).group(1)) // 1024


def parent(path):
    """Return the nearest folder above (or at) a path that is there."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def disks(paths):
    """Return for each path (MiB of the disk it lies on or will, whether / lies there too, how many paths do)."""
    devices = {path: os.stat(parent(path)).st_dev for path in paths}
    found = {}
    for path, device in devices.items():
        stats = os.statvfs(parent(path))
        users = len([d for d in devices.values() if d == device])
        found[path] = (stats.f_blocks * stats.f_frsize // (1 << 20), device == os.stat("/").st_dev, users)
    return found


def mounted(text):
    """Return under store by folder, from what C(fs mount) prints; its other columns are not read."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r"(\S+)\s+on\s+(/\S*)\s+\(", line)
        if match:
            found[match.group(2)] = match.group(1)
    return found


def same_store(one, other):
    """Whether two addresses of an under store are the same but for the slash at their end, or file://."""
    plain = [re.sub(r"^file://", "", text).rstrip("/") for text in (one, other)]
    return plain[0] == plain[1]


def quoted(words):
    """Return words as a file of arguments holds them for Java, one a line."""
    return "".join('"%s"\n' % word.replace("\\", "\\\\").replace('"', '\\"') for word in words)


def entries(folder):
    """Return the names in a folder; none where it is not there."""
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def journal_action(found, marker, kind, replace=False):
    """Return what is to be done about a journal: ``format``, ``keep`` or ``mark``.

    Args:
        found: names in the journal's folder.
        marker: the kind that was bootstrapped, None where none was.
        kind: UFS or EMBEDDED, the kind that is wanted.
        replace: whether one that was lost, or moved away, may be recreated.

    Raises:
        AlluxioError: neither would be right; nothing is ever formatted that holds anything.
    """
    if not found and (marker is None or replace):
        return "format"
    if marker is None:
        return "mark"
    if marker != kind:
        raise AlluxioError(
            "The journal of this master is of the kind %s, wanted is %s: the number of masters was changed between one and"
            " three in the site file, and a journal cannot be taken over. Remedy: give the role alluxio_master to the former"
            " node alone again; `avadm cache masters NODE NODE NODE` changes it." % (marker, kind)
        )
    if not found:
        raise AlluxioError(
            "The journal of this master was formatted once and is empty or gone now. It is not formatted again, since it may"
            " only be away (a disk that is not mounted). Remedy: bring it back; or where it is lost, `avadm apply cache --replace"
            " NODE`: the under stores are mounted again, nothing in them is lost."
        )
    return "keep"
