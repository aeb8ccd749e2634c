"""What the doctor asks of GPUs."""

from __future__ import absolute_import

import glob
import os
import re

from .system import LONG_LINE, call


def gpu(_):
    """Devices and memory of the GPUs, and whether unified memory's device is there."""
    rows = []
    code, out, err = call(
        ["nvidia-smi", "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits"]
    )
    for line in out.splitlines() if code == 0 else []:
        index, used, total = [(re.findall(r"\d+", word) or ["0"])[0] for word in line.split(",")]
        rows.append({"index": int(index), "used_mib": int(used), "total_mib": int(total)})
    return {
        "uvm": os.path.exists("/dev/nvidia-uvm"),
        "devices": len(glob.glob("/dev/nvidia[0-9]*")),
        "seen": rows,
        "said": "" if code == 0 else (err.strip() or out.strip() or "exit %d" % code)[:LONG_LINE],
    }
