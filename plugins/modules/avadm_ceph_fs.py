#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_fs
short_description: Manage a CephFS file system
description:
  - Makes the file system of two existing pools (C(ceph fs new), which every release since 13 has), keeps its
    number of active metadata servers and of wanted standbys, and waits until all ranks are active.
  - A file system that exists keeps its pools; nothing is ever deleted.
options:
  name: {description: File system name., type: str, required: true}
  metadata_pool: {description: Pool of the metadata., type: str, required: true}
  data_pool: {description: First data pool., type: str, required: true}
  max_mds: {description: Ranks that serve at once., type: int, default: 1}
  standbys: {description: Standbys below which the cluster warns., type: int, default: 1}
  timeout: {description: Seconds to wait until all ranks are active., type: int, default: 60}
"""

EXAMPLES = r"""
- name: Create the file system
  avadm_ceph_fs:
    name: cephfs
    metadata_pool: cephfs_metadata
    data_pool: cephfs_data
"""

RETURN = r"""
actions:
  description: The commands that were run (in check mode would be).
  type: list
  returned: success
active:
  description: Metadata servers that serve a rank.
  type: list
  returned: success
"""

from ansible.module_utils.avadm_ceph import Ceph, CephError, runner, wait
from ansible.module_utils.basic import AnsibleModule


class FileSystem(object):
    """One file system, and the commands that make it right."""

    def __init__(self, ceph, params, check_mode=False):
        self.ceph, self.params, self.check_mode = ceph, params, check_mode
        self.name = params["name"]
        self.actions = []
        self.active = []

    def do(self, *words):
        """Run one changing command and note it."""
        self.actions.append(" ".join(str(word) for word in words))
        if not self.check_mode:
            self.ceph.text(*words)

    def find(self):
        """Return the file system's map, or None."""
        for one in self.ceph.json("fs", "dump", absent={"filesystems": []})["filesystems"]:
            if one["mdsmap"]["fs_name"] == self.name:
                return one["mdsmap"]
        return None

    def ensure(self):
        """Make the file system, and set what differs.

        Raises:
            CephError: it exists on other pools, or ceph refused a command.
        """
        found = self.find()
        if found is None:
            self.do("fs", "new", self.name, self.params["metadata_pool"], self.params["data_pool"])
            found = (None if self.check_mode else self.find()) or {}
        else:
            self.check_pools(found)
        if found.get("max_mds", 1) != self.params["max_mds"]:
            self.do("fs", "set", self.name, "max_mds", self.params["max_mds"])
        if found.get("standby_count_wanted") != self.params["standbys"]:
            self.do("fs", "set", self.name, "standby_count_wanted", self.params["standbys"])

    def check_pools(self, found):
        """Raise CephError if the file system lies on other pools than wanted."""
        names = {p["poolnum"]: p["poolname"] for p in self.ceph.json("osd", "lspools")}
        metadata = names.get(found["metadata_pool"])
        data = [names.get(number) for number in found["data_pools"]]
        if metadata != self.params["metadata_pool"] or self.params["data_pool"] not in data:
            raise CephError(
                "file system %s lies on other pools: found metadata %s, data %s; wanted metadata %s, "
                "data %s. Name the file system of the site file otherwise, or give it the pools that it has"
                % (
                    self.name,
                    metadata,
                    ", ".join(map(str, data)),
                    self.params["metadata_pool"],
                    self.params["data_pool"],
                )
            )

    def served(self):
        """Return None if every rank is active, else what is missing."""
        found = self.find() or {"info": {}}
        info = found["info"].values()
        self.active = sorted(one["name"] for one in info if one["state"] == "up:active")
        if len(self.active) >= self.params["max_mds"]:
            return None
        states = ", ".join("%s %s" % (one["name"], one["state"]) for one in info)
        return "%d of %d ranks of %s are active (%s)" % (
            len(self.active),
            self.params["max_mds"],
            self.name,
            states or "no metadata server has taken one",
        )


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "metadata_pool": {"type": "str", "required": True},
            "data_pool": {"type": "str", "required": True},
            "max_mds": {"type": "int", "default": 1},
            "standbys": {"type": "int", "default": 1},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    work = FileSystem(Ceph(runner(module), dry=module.check_mode), module.params, module.check_mode)
    try:
        work.ensure()
        missing = None if module.check_mode else wait(work.served, module.params["timeout"])
    except CephError as error:
        module.fail_json(msg="Cannot keep the file system: %s." % error)
    if missing:
        module.fail_json(
            msg="Not served after %d s: %s. See `systemctl status ceph-mds@NAME` on the mds nodes."
            % (module.params["timeout"], missing)
        )
    module.exit_json(changed=bool(work.actions), actions=work.actions, active=work.active)


if __name__ == "__main__":
    main()
