#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_auth
short_description: Manage the cluster's cephx entities with their keys and capabilities
description:
  - Reads all entities with one C(ceph auth ls) and imports those that are missing or differ with one
    C(ceph auth import); keys pass through standard input only.
  - Entities that are not named are left alone; nothing is ever deleted.
  - Needs the administrator's key on the node.
options:
  entities:
    description: The entities, each with C(entity), C(key) and C(caps) (service to capability text).
    type: list
    elements: dict
    required: true
    suboptions:
      entity: {description: "Name, e.g. C(client.cephfs).", type: str, required: true}
      key: {description: The key., type: str, required: true}
      caps: {description: Service to capability., type: dict, required: true}
"""

EXAMPLES = r"""
- name: Keep the keys
  avadm_ceph_auth:
    entities:
      - entity: client.bootstrap-osd
        key: "{{ vault_ceph_key_client_bootstrap_osd }}"
        caps: {mon: allow profile bootstrap-osd}
"""

RETURN = r"""
imported:
  description: Entities that were new or differed.
  type: list
  returned: success
"""

from ansible.module_utils.avadm_ceph import Ceph, CephError, keyring, runner
from ansible.module_utils.basic import AnsibleModule


def differing(ceph, entities):
    """Return those of the wanted entities that the cluster has not, or has with another key or other caps."""
    known = {one["entity"]: one for one in ceph.json("auth", "ls", absent={"auth_dump": []})["auth_dump"]}
    return [
        one
        for one in entities
        if one["entity"] not in known
        or known[one["entity"]]["key"] != one["key"]
        or known[one["entity"]].get("caps", {}) != one["caps"]
    ]


def ensure(ceph, entities, check_mode=False):
    """Import what differs; return its names."""
    different = differing(ceph, entities)
    if different and not check_mode:
        # /dev/stdin, not "-": every release reads a file name.
        ceph.text("auth", "import", "-i", "/dev/stdin", data=keyring(different))
    return [one["entity"] for one in different]


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "entities": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "entity": {"type": "str", "required": True},
                    "key": {"type": "str", "required": True, "no_log": True},
                    "caps": {"type": "dict", "required": True},
                },
            }
        },
        supports_check_mode=True,
    )
    try:
        imported = ensure(
            Ceph(runner(module), dry=module.check_mode), module.params["entities"], module.check_mode
        )
    except CephError as error:
        module.fail_json(msg="Cannot keep the cephx keys: %s" % error)
    module.exit_json(changed=bool(imported), imported=imported)


if __name__ == "__main__":
    main()
