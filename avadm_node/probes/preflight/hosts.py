"""/etc/hosts."""

from __future__ import absolute_import

from .system import read


def hosts():
    """Name to addresses, as /etc/hosts has it."""
    names = {}
    for line in read("/etc/hosts").splitlines():
        words = line.split("#")[0].split()
        for name in words[1:]:
            names.setdefault(name, []).append(words[0])
    return names
