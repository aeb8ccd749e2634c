# Runs on nodes: python 2.7 and 3.
"""Lights a disk's locate LED, by which people find it in its bay: by ledctl, or by the enclosure in sysfs.

Nothing is written to the disk itself.
"""

from __future__ import absolute_import, division, print_function

import glob
import io
import os

from . import report
from .machine import Machine


def do(given, machine=None):
    """Light the LED of a disk, or put it out.

    Args:
        given: mapping with device, the disk's path, and on, whether it is to be lit.

    Returns:
        mapping with done, whether the LED is so now, and how: ``ledctl``, ``enclosure``, or else why it is not.
    """
    machine = machine or Machine(report.run)
    name = os.path.basename(given["device"])
    if not os.path.exists(machine.path(given["device"])):
        return {"done": False, "how": "%s is not in the node any more" % given["device"]}
    word = "locate" if given["on"] else "locate_off"
    rc, out, err = machine.run(["ledctl", "%s=%s" % (word, given["device"])])
    if rc == 0:
        return {"done": True, "how": "ledctl"}
    slots = glob.glob(machine.path("/sys/class/enclosure/*/*/device/block/" + name))
    for slot in slots:
        try:
            # `device` is a link: what is above it in the path is not above it in the kernel's tree.
            with io.open(slot.rpartition("/device/block/")[0] + "/locate", "w") as stream:
                stream.write("1" if given["on"] else "0")
        except (IOError, OSError) as error:
            return {"done": False, "how": "its enclosure refuses: %s" % error.strerror}
        return {"done": True, "how": "enclosure"}
    why = "there is no ledctl" if rc == 127 else "ledctl: %s" % ((err or out).strip().split("\n")[-1] or rc)
    return {"done": False, "how": "%s, and no enclosure has %s" % (why, name)}
