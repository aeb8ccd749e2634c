# Runs on nodes: python 2.7 and 3.
"""Whether a disk has rotating platters, as far as a kernel can know."""

from __future__ import absolute_import

import re

VIRTUAL = ("QEMU HARDDISK", "VBOX HARDDISK", "Virtual disk", "Virtual Disk")
"""Models of SCSI disks that hypervisors make."""


def rotates(kernel, flag, model):
    """Return whether a disk rotates; None where the kernel does not know.

    What a loop device is stored on is not known. Of a virtual disk the kernel says 1 where the hypervisor reported nothing.

    Args:
        kernel: its name, such as vda.
        flag: text of queue/rotational, or None.
        model: text of device/model, or None.
    """
    says = {"0": False, "1": True}.get((flag or "").strip())
    virtual = re.match(r"x?vd[a-z]", kernel) or (model or "").strip() in VIRTUAL
    return None if kernel.startswith("loop") or (says and virtual) else says
