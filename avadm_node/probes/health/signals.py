"""Whether a process takes SIGTERM, by what the kernel says of it in /proc (proc(5))."""

from __future__ import absolute_import

import glob
import os
import re
import signal
import struct
import time

from .system import slurp

TERM = 1 << (signal.SIGTERM - 1)
SIGTIMEDWAIT = {"x86_64": "128", "aarch64": "137"}
"""Number of the system call rt_sigtimedwait by the machine's name: sigwait, sigwaitinfo and sigtimedwait are it."""


LOOKS, BETWEEN = 3, 0.1
"""How often a process is looked at, and seconds between: one that waits for signals does other things for moments."""


INITS = ("tini", "tini-static", "docker-init", "dumb-init", "catatonit", "init")
"""Inits that wait for signals, by name: what is left where the kernel does not say what a process waits for."""


def takes_term(pid):
    """Whether a process catches SIGTERM, waits for it, or reads it from a signalfd; None where there is no such process."""
    fields = dict(re.findall(r"^(\w+):\s+(.*)$", slurp("/proc/%s/status" % pid) or "", re.M))
    if "SigCgt" not in fields:
        return None
    if int(fields["SigCgt"], 16) & TERM:
        return True
    if int(fields.get("SigBlk", "0"), 16) & TERM and reads_term(pid):
        return True
    for look in range(LOOKS):
        if look:
            time.sleep(BETWEEN)
        waits = waits_for_term(pid)
        if waits is None:
            return fields.get("Name") in INITS
        if waits:
            return True
    return False


def reads_term(pid):
    """Whether a process has a signalfd of which SIGTERM is read."""
    masks = [
        re.search(r"^sigmask:\s+(\w+)", slurp(p) or "", re.M) for p in glob.glob("/proc/%s/fdinfo/*" % pid)
    ]
    return any(int(found.group(1), 16) & TERM for found in masks if found)


def waits_for_term(pid):
    """Whether a thread of a process waits for SIGTERM now (sigtimedwait); None where the kernel does not say.

    No mask tells: the kernel takes the awaited signals out of the blocked ones while it waits (kernel/signal.c, do_sigtimedwait).
    """
    number = SIGTIMEDWAIT.get(os.uname()[4])
    calls = [c for c in (slurp(p) for p in glob.glob("/proc/%s/task/*/syscall" % pid)) if c]
    if number is None or not calls:
        return None
    # "NUMBER ARGUMENT ..." or "running"
    waiting = [c.split()[1] for c in calls if c.split()[0] == number]
    return any(awaited(pid, int(address, 16)) & TERM for address in waiting)


def awaited(pid, address):
    """Return the set of signals at an address of a process (u64); all where its memory cannot be read."""
    try:
        with open("/proc/%s/mem" % pid, "rb") as memory:
            memory.seek(address)
            return struct.unpack("=Q", memory.read(8))[0]
    except (OSError, IOError, OverflowError, struct.error):
        return ~0
