#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_osd
short_description: Create and start an OSD on each approved block device of a node
description:
  - Looks at all devices first. If one is refused, nothing on the node is changed, and all reasons of
    all devices are reported together (docs/explanation/disk-safety.md).
  - A device that is an OSD of this cluster already is left as it is; its daemon is enabled and started.
  - A blank device is probed once more, open for writing, just before it is written.
  - An OSD whose making was cut off is finished, with the same id.
  - A blank device takes over the id of a destroyed OSD where I(reused_ids) says so; its place in the CRUSH map stays.
options:
  devices:
    description:
      - Approvals, each with some of I(by_id), I(serial), I(wwn), which must all match, and I(device_class).
    type: list
    elements: dict
    required: true
  fsid:
    description: The cluster.
    type: str
    required: true
  bootstrap_key:
    description: Key of C(client.bootstrap-osd).
    type: str
    required: true
  backend:
    description: C(lvm) by ceph-volume, or C(raw) on the bare device where there is no device mapper.
    type: str
    choices: [lvm, raw]
    default: lvm
  min_bytes:
    description: The least size of a device.
    type: int
    default: 5368709120
  reused_ids:
    description: The destroyed OSD's id that a device takes over, by any one identifier of its approval.
    type: dict
    default: {}
  timeout:
    description: Seconds in which all daemons must be up.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Create OSDs
  avadm_ceph_osd:
    devices: [{by_id: /dev/disk/by-id/wwn-0x500, device_class: ssd}]
    fsid: "{{ ceph_osd_fsid }}"
    bootstrap_key: "{{ ceph_osd_bootstrap_key }}"
"""

RETURN = r"""
devices:
  description: For each approval its C(name), C(path), C(real), C(size), C(state), C(reasons), C(osd).
  type: list
  returned: always
created:
  description: Ids of the OSDs that were made; in check mode the paths of the devices that would be.
  type: list
  returned: success
started:
  description: Ids of the OSDs that were enabled or started.
  type: list
  returned: success
"""

import time

# Those that these import are named as well: mitogen sends what it finds by a whole name.
from ansible.module_utils.avadm_node.probes.disks import blank, content, naming, ownership  # noqa: F401
from ansible.module_utils.avadm_node.probes.disks.machine import Machine
from ansible.module_utils.avadm_osd_maker import Maker, OsdError
from ansible.module_utils.basic import AnsibleModule


def entry_for(device, osd, entries):
    """Return the journal's entry that a device's OSD continues with, if its making began earlier."""
    if osd:
        return entries[osd["fsid"]]
    return next((e for e in entries.values() if e["path"] == device.path), None)


def reused_id(device, reused):
    """Return the id that a device takes over; None where it gets a new one."""
    named = [reused[device.approved[kind]] for kind in naming.KINDS if device.approved.get(kind) in reused]
    return int(named[0]) if named else None


def make(maker, given, device, state, osd, entries):
    """Make the OSD of one device; return its id. Raises OsdError."""
    reused = reused_id(device, given.get("reused_ids") or {})
    if given["backend"] == "lvm" and reused is None:
        return maker.make_lvm(device)
    entry = entry_for(device, osd, entries) or maker.begin(device)
    if given["backend"] == "lvm":
        return maker.make_lvm_again(device, entry, reused, given["fsid"])
    return maker.make_raw(device, entry, state == "unfinished", reused)


def ensure(maker, given, judged, entries, clock=time.time):
    """Make what is missing and run all; return (changed, created, started).

    Raises:
        OsdError: with every device that failed; the others are done.
    """
    raw = given["backend"] == "raw"
    changed = maker.write_bootstrap(given["bootstrap_key"])
    if raw:
        changed = maker.write_dropin() or changed
    created, started, running, troubles = [], [], [], []
    for device, state, osd in judged:
        try:
            if state == "osd":
                number = osd["id"]
                # The run that made it may have been cut off before it could forget.
                maker.journal.remove(osd["fsid"])
            else:
                number = make(maker, given, device, state, osd, entries)
                created.append(number)
            if raw:
                changed = maker.prepare(device, number) or changed
            elif state == "osd":
                changed = maker.activate(number, osd["fsid"]) or changed
            if maker.start(number):
                started.append(number)
            running.append((device, number))
        except (OsdError, EnvironmentError, ValueError) as error:
            troubles.append("%s (%s): %s" % (device.name, device.real, error))
    deadline = clock() + given["timeout"]
    for device, number in running:
        try:
            maker.await_up(number, given["fsid"], deadline)
        except (OsdError, ValueError) as error:
            troubles.append("osd.%d on %s: %s" % (number, device.name, error))
    if troubles:
        raise OsdError("; ".join(troubles))
    return changed or bool(created or started), created, started


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "dict", "required": True},
            "fsid": {"type": "str", "required": True},
            "bootstrap_key": {"type": "str", "required": True, "no_log": True},
            "backend": {"type": "str", "choices": ["lvm", "raw"], "default": "lvm"},
            "min_bytes": {"type": "int", "default": blank.MIN_BYTES},
            "reused_ids": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    given = module.params

    def run(argv, data=None):
        return module.run_command(argv, data=data, binary_data=True, environ_update={"LC_ALL": "C"})

    machine, journal = Machine(run), ownership.Journal()
    entries = journal.entries()
    devices = naming.survey(machine, given["devices"])
    least = given["min_bytes"]
    judged = [(d,) + ownership.judge(machine, d, given["fsid"], entries, least) for d in devices]
    described = [ownership.describe(*one) for one in judged]
    refused = ownership.refusals(devices)
    if refused:
        module.fail_json(msg=refused, devices=described)
    missing = [d.path for d, state, _osd in judged if state != "osd"]
    if module.check_mode:
        module.exit_json(changed=bool(missing), devices=described, created=missing, started=[])
    maker = Maker(machine, run, journal, least)
    try:
        changed, created, started = ensure(maker, given, judged, entries)
    except OsdError as error:
        module.fail_json(msg="Not all OSDs of the node run: %s." % error, devices=described)
    module.exit_json(changed=changed, devices=described, created=created, started=started)


if __name__ == "__main__":
    main()
