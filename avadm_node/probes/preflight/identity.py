"""Addresses of the machine."""

from __future__ import absolute_import

import re

from .system import read


def addresses():
    """IPv4 addresses of this machine, from the kernel's own table (ip(8) may not be installed yet)."""
    found = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", read("/proc/net/fib_trie"))
    return sorted(set(found))
