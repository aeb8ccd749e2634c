"""The one place that writes a file system: on what its caller made just now, and only if that is proven blank (K1).

The proof is the one that disks get (blank: signatures, wipefs, blkid, content): a probe that fails or does not
end has proven nothing, and is a refusal. The program that mounts volumes for pods does not have this module.
"""

import os

from ...probes.disks import blank
from ...probes.disks.naming import Device
from .common import VolumeError, must, run

PROBE_S, WRITE_S = 120, 900
MKFS = (
    ["mkfs.ext4", "-q", "-F", "-m", "0", "-e", "remount-ro"]
    # The image reads as zeros: tables that are written later need no writing now.
    + ["-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]
)


class Probes:
    """What the proof asks of the machine: to run a program, for as long as a probe may take."""

    def __init__(self, run):
        self._run = run

    def run(self, argv):
        """Run a probe."""
        return self._run(argv, PROBE_S)


def doubts(path, run=run):
    """Return why a device or an image file is not proven blank; an empty list is the proof."""
    device = Device({})
    device.real = path
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        return ["cannot be opened: %s" % os.strerror(error.errno)]
    try:
        blank.prove_content(Probes(run), device, handle)
    finally:
        os.close(handle)
    return device.reasons


def make_filesystem(path, run=run):
    """Write ext4 on what is proven blank; VolumeError for anything else, and nothing is written then."""
    found = doubts(path, run)
    if found:
        raise VolumeError("%s is not proven blank: it %s; nothing was written" % (path, "; ".join(found)))
    must(MKFS + [path], WRITE_S, run)
    # Its root belongs to the user that the pod runs as, like the folders of cephfs.
    must(["debugfs", "-w", "-R", "set_inode_field / mode 040777", path], WRITE_S, run)
