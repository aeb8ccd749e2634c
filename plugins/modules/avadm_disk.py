#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_disk
short_description: Check whether each approved block device is proven blank
description:
  - Finds the one device that each approval names, and probes it. Every probe must succeed and find nothing,
    or the device is refused with its reasons (docs/explanation/disk-safety.md).
  - Never changes anything.
options:
  devices:
    description: Approvals, each with some of I(by_id), I(serial) and I(wwn), which must all match.
    type: list
    elements: dict
    required: true
  fsid:
    description: The ceph cluster whose OSDs count as done.
    type: str
    default: ""
  min_bytes:
    description: The least size.
    type: int
    default: 5368709120
"""

EXAMPLES = r"""
- name: Look at the approved devices
  avadm_disk:
    devices: [{serial: S4CNNX0N800123}]
"""

RETURN = r"""
devices:
  description: For each approval C(name), C(path), C(real), C(size) in bytes, C(state), C(reasons) and C(osd).
  type: list
  returned: always
"""

# Those that these import are named as well: mitogen sends what it finds by a whole name.
from ansible.module_utils.avadm_node.probes.disks import blank, content, naming, ownership  # noqa: F401
from ansible.module_utils.avadm_node.probes.disks.machine import Machine
from ansible.module_utils.basic import AnsibleModule


def look(machine, approvals, fsid, journal, min_bytes):
    """Return what is found about each approval."""
    devices = naming.survey(machine, approvals)
    return [
        ownership.describe(device, *ownership.judge(machine, device, fsid, journal, min_bytes))
        for device in devices
    ]


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "dict", "required": True},
            "fsid": {"type": "str", "default": ""},
            "min_bytes": {"type": "int", "default": blank.MIN_BYTES},
        },
        supports_check_mode=True,
    )
    machine = Machine(lambda argv: module.run_command(argv, environ_update={"LC_ALL": "C"}))
    given = module.params
    journal = ownership.Journal().entries()
    found = look(machine, given["devices"], given["fsid"], journal, given["min_bytes"])
    module.exit_json(changed=False, devices=found)


if __name__ == "__main__":
    main()
