#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_alluxio_sizes
short_description: Calculate Alluxio's heaps, tiers and blocks from the machine's memory and disks
description:
  - Looks only. What is given is taken as it is; the rest is computed (avadm_node/cache_sizes.py says how).
options:
  parts:
    description: What runs here, any of C(master), C(worker), C(client).
    type: list
    elements: str
    required: true
  dedicated:
    description: Whether nothing else of weight runs here.
    type: bool
    required: true
  tiers:
    description: The worker's tiers with I(kind), I(path) and I(quota_mib), the fastest first.
    type: list
    elements: dict
    required: true
  heaps:
    description: Part to its Java heap in MiB; 0 for computed.
    type: dict
    required: true
  block_mib:
    description: Size of a block in MiB; 0 for computed.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Compute sizes
  avadm_alluxio_sizes:
    parts: [worker]
    dedicated: true
    tiers: [{kind: MEM, path: /var/lib/alluxio/mem}]
    heaps: {worker: 0}
"""

RETURN = r"""
sizes:
  description: I(heaps), I(tiers) and I(block_mib), in MiB.
  type: dict
  returned: success
"""

from ansible.module_utils import avadm_alluxio as alluxio
from ansible.module_utils.avadm_node import cache_sizes
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "parts": {"type": "list", "elements": "str", "required": True},
            "dedicated": {"type": "bool", "required": True},
            "tiers": {"type": "list", "elements": "dict", "required": True},
            "heaps": {"type": "dict", "required": True},
            "block_mib": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    given = module.params
    with open("/proc/meminfo") as stream:
        memory = alluxio.memory_mib(stream.read())
    disks = alluxio.disks([t["path"] for t in given["tiers"] if t["kind"] != "MEM"])
    heaps = {part: int(size) for part, size in given["heaps"].items()}
    try:
        found = cache_sizes.sizes(
            {"memory_mib": memory, "disks": disks},
            given["parts"],
            given["dedicated"],
            given["tiers"],
            heaps,
            given["block_mib"],
        )
    except cache_sizes.CacheSizeError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, sizes=found)


if __name__ == "__main__":
    main()
