"""Free space and inodes."""

from __future__ import absolute_import

import os


def space():
    """MiB free for root on the file systems that we write to."""
    free = {}
    for path in ("/", "/var/lib", "/tmp"):
        if os.path.isdir(path):
            state = os.statvfs(path)
            free[path] = state.f_bavail * state.f_frsize // 2**20
    return free


def inodes():
    """Inodes free for root on the same file systems; None where a file system has no fixed number."""
    free = {}
    for path in space():
        state = os.statvfs(path)
        free[path] = state.f_favail if state.f_files else None
    return free
