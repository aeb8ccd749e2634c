"""Distribution, its release and the kernel."""

from __future__ import absolute_import

import os
import re

from .system import read


def release():
    """Distribution, its release and the kernel."""
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', read("/etc/os-release"), re.M))
    return {
        "id": values.get("ID", ""),
        "release": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME", ""),
        "kernel": os.uname()[2],
        "machine": os.uname()[4],
    }
