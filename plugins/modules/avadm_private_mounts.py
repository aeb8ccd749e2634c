#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_private_mounts
short_description: Find processes that hold a private copy of the host's file systems
description:
  - A container that mounts the host's root recursively and privately keeps every file system of the host
    mounted, also after the host has unmounted it. An RBD volume then stays mapped, and data were lost so.
  - Looks at every process whose command matches I(command) and that has a mount namespace of its own. A mount
    there of the host's root (same device, same root folder) that receives no unmounts from the host (neither
    C(master:) nor C(shared:) in C(/proc/PID/mountinfo)) is a finding.
  - Changes nothing.
options:
  command:
    description: Regular expression searched in each process's command name (C(/proc/PID/comm)).
    type: str
    required: true
  fail:
    description: Whether a finding fails the task.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: See that no exporter holds the host's file systems
  avadm_private_mounts:
    command: node_exporter
"""

RETURN = r"""
processes:
  description: How many processes matched.
  type: int
  returned: always
findings:
  description: The private copies, each with pid, command and mount_point.
  type: list
  elements: dict
  returned: always
"""

import os
import re

from ansible.module_utils.basic import AnsibleModule


def mounts(text):
    """Return the mounts of a mountinfo file (proc(5)): device, root, mount point and propagation fields."""
    found = []
    for line in text.split("\n"):
        before, _dash, _after = line.partition(" - ")
        fields = before.split()
        if len(fields) >= 6:
            found.append({"device": fields[2], "root": fields[3], "point": fields[4], "tags": fields[6:]})
    return found


def private_copies(host, process):
    """Return where a process's namespace holds the host's root without hearing of the host's unmounts.

    Args:
        host: mounts of PID 1.
        process: mounts of the process.
    """
    roots = [m for m in host if m["point"] == "/"]
    if not roots:
        return []
    # The last mount on / covers the earlier ones.
    wanted = (roots[-1]["device"], roots[-1]["root"])
    return [
        m["point"]
        for m in process
        if (m["device"], m["root"]) == wanted
        and not any(t.startswith(("master:", "shared:")) for t in m["tags"])
    ]


def read(path):
    """Return a file's text, "" if the process is gone."""
    try:
        with open(path) as source:
            return source.read()
    except (IOError, OSError):
        return ""


def namespace(proc, pid):
    """Return the identity of a process's mount namespace, None if it is gone."""
    try:
        return os.readlink("%s/%s/ns/mnt" % (proc, pid))
    except (IOError, OSError):
        return None


def scan(command, proc="/proc"):
    """Return (number of processes that match, findings)."""
    host_space, host = namespace(proc, 1), mounts(read("%s/1/mountinfo" % proc))
    count, findings = 0, []
    for pid in sorted((p for p in os.listdir(proc) if p.isdigit()), key=int):
        name = read("%s/%s/comm" % (proc, pid)).strip()
        if not name or not re.search(command, name):
            continue
        count += 1
        if namespace(proc, pid) in (None, host_space):
            continue
        for point in private_copies(host, mounts(read("%s/%s/mountinfo" % (proc, pid)))):
            findings.append({"pid": int(pid), "command": name, "mount_point": point})
    return count, findings


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "command": {"type": "str", "required": True},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    count, findings = scan(module.params["command"])
    if findings and module.params["fail"]:
        module.fail_json(
            msg="A process holds a private copy of the host's file systems: %s. A volume that the host"
            " unmounts stays mapped. Remedy: stop that process; run it as a service of the host, or mount the"
            " host's root with propagation rslave."
            % "; ".join("%(command)s (pid %(pid)d) at %(mount_point)s" % f for f in findings),
            processes=count,
            findings=findings,
        )
    module.exit_json(changed=False, processes=count, findings=findings)


if __name__ == "__main__":
    main()
