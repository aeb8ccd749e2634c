#!/usr/bin/env python
"""A mount that answers nothing, inside running containers: who looks into it hangs in the kernel, and no signal ends it.

``begin POD,POD...`` puts one over a folder of each pod's container; ``end`` takes all of them away again, and so does the end of
--seconds.
Python 2.7 and 3; root, docker, /dev/fuse.
"""

from __future__ import print_function

import argparse
import ctypes
import errno
import glob
import os
import signal
import struct
import subprocess
import sys

NEWNS, NOSUID_NODEV = 0x20000, 2 | 4
HEAD, INIT = "<IIQQIIII", 26  # include/uapi/linux/fuse.h
HERE = os.path.dirname(os.path.abspath(__file__))


def pid_of(pod):
    """Return the first process of a pod's container, as this node numbers it."""
    wanted = ["label=io.kubernetes.pod.name=" + pod, "label=io.kubernetes.docker.type=container"]
    line = ["docker", "ps", "-q"] + [x for w in wanted for x in ("--filter", w)]
    found = subprocess.check_output(line).decode().split()
    if len(found) != 1:
        sys.exit("%s: %d containers run, wanted 1" % (pod, len(found)))
    return subprocess.check_output(["docker", "inspect", "-f", "{{.State.Pid}}", found[0]]).decode().strip()


def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(pid, folder):
    """Go to where the container is, mount there, and return the device that the kernel's requests come from."""
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    place = os.open("/proc/%s/ns/mnt" % pid, os.O_RDONLY)
    check(libc.setns(place, NEWNS))
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
    check(libc.mount(b"avadm-hang", folder.encode(), b"fuse", NOSUID_NODEV, options.encode()))
    return device


def greet(device):
    """Answer the kernel's first request, which is not the users'."""
    asked = os.read(device, 1 << 20)
    _length, opcode, unique = struct.unpack_from("<IIQ", asked)
    if opcode != INIT:
        raise OSError(errno.EPROTO, "the kernel did not begin with INIT")
    reply = struct.pack("<IIIIHHI", 7, 22, 65536, 0, 12, 9, 65536)
    os.write(device, struct.pack("<IiQ", 16 + len(reply), 0, unique) + reply)


def hang(pod, folder, seconds):
    """Serve one mount in a process of its own, which answers nothing until it ends."""
    pid = pid_of(pod)
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        text = os.read(ready, 4096).decode()
        if text != "mounted":
            sys.exit("%s: %s" % (pod, text or "the mount was not made"))
        return
    os.setsid()
    signal.alarm(seconds)  # its end ends the mount: the kernel wakes all who wait
    null = os.open(os.devnull, os.O_RDWR)  # where it goes to there may be none
    try:
        with open(os.path.join(HERE, "hang.%d" % os.getpid()), "w") as note:
            note.write(pod)
        device = mount(pid, folder)
        greet(device)
        os.write(tell, b"mounted")
    except (EnvironmentError, struct.error) as error:
        os.write(tell, str(error).encode())
        os._exit(1)
    for stream in (0, 1, 2):
        os.dup2(null, stream)  # no one waits for what it might print
    os.close(tell)
    while True:
        try:
            os.read(device, 1 << 20)
        except OSError as error:
            if error.errno != errno.EINTR:
                os._exit(0)


def end():
    """End all that was begun; return how many."""
    count = 0
    for note in glob.glob(os.path.join(HERE, "hang.[0-9]*")):
        pid = note.rpartition(".")[2]
        try:
            with open("/proc/%s/cmdline" % pid) as line:
                ours = os.path.basename(__file__) in line.read()
            if ours:
                os.kill(int(pid), signal.SIGKILL)
                count += 1
        except EnvironmentError:
            pass  # it has ended by itself
        os.unlink(note)
    return count


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["begin", "end"])
    p.add_argument("pods", nargs="?", default="")
    p.add_argument("--folder", default="/srv")
    p.add_argument("--seconds", type=int, default=300)
    a = p.parse_args()
    if a.what == "end":
        print('{"ended": %d}' % end())
        return
    pods = [pod for pod in a.pods.split(",") if pod]
    try:
        for pod in pods:
            hang(pod, a.folder, a.seconds)
    except BaseException:
        end()
        raise
    print('{"hung": %d}' % len(pods))


if __name__ == "__main__":
    main()
