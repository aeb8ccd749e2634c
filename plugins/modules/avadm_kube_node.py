#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kube_node
short_description: Cordon, drain or uncordon a node of Kubernetes
description:
  - Runs on a master, which root's C(kubectl) can ask.
  - Draining is the same as C(avadm node drain); see there what it refuses. What is refused leaves the node as it was. One that
    is not drained in time stays cordoned, and the next run continues.
options:
  name:
    description: The node's name in Kubernetes.
    type: str
    required: true
  state:
    description: C(cordoned) keeps new pods from it; C(drained) also has its pods move elsewhere; C(schedulable) undoes it.
    type: str
    choices: [cordoned, drained, schedulable]
    required: true
  force:
    description: Whether pods that nothing makes again may be evicted.
    type: bool
    default: false
  delete_local_data:
    description: Whether pods with an emptyDir may be evicted; what is in it is lost.
    type: bool
    default: false
  timeout:
    description: Seconds that its pods may take to move.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Have its pods move elsewhere
  avadm_kube_node:
    name: comp1
    state: drained
  delegate_to: mast1
"""

RETURN = r"""
evicted:
  description: Pods that were evicted, C(NAMESPACE/NAME).
  type: list
  returned: success
"""

from ansible.module_utils.avadm_node.probes.kube.drain import Drain, DrainError
from ansible.module_utils.basic import AnsibleModule

REFUSED = {
    "without-controller": "nothing makes them again (force): ",
    "local-data": "they have data in an emptyDir (delete_local_data): ",
}


def ensure(node, state, timeout, check_mode=False):
    """Return (changed, evicted pods).

    Raises:
        DrainError: pods forbid it, or are left after the time.
    """
    seen = node.look()
    if seen["cordoned"] is None:
        raise DrainError("Kubernetes does not know %s." % node.name)
    cordoned = state != "schedulable"
    changed = seen["cordoned"] is not cordoned
    if state != "drained":
        if changed and not check_mode:
            node.cordon(cordoned)
        return changed, []
    if check_mode and not seen["refused"]:
        return changed or bool(seen["going"]), []
    report = seen if seen["refused"] else node.drain(timeout)
    if report["refused"]:
        words = [REFUSED[reason] + ", ".join(pods) for reason, pods in sorted(report["refused"].items())]
        raise DrainError("Pods of %s would be lost: it is not drained. %s" % (node.name, "; ".join(words)))
    if not report["done"]:
        left = ["%(pod)s (%(why)s)" % pod if pod["why"] else pod["pod"] for pod in report["left"]]
        raise DrainError(
            "%s is not drained after %d s and stays cordoned; pods that are left: %s. The next run continues."
            % (node.name, timeout, ", ".join(left))
        )
    return changed or bool(report["evicted"]), report["evicted"]


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["cordoned", "drained", "schedulable"], "required": True},
            "force": {"type": "bool", "default": False},
            "delete_local_data": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 600},
        },
        supports_check_mode=True,
    )
    given = module.params
    node = Drain(given["name"], given["force"], given["delete_local_data"], module.run_command)
    try:
        changed, evicted = ensure(node, given["state"], given["timeout"], module.check_mode)
    except DrainError as error:
        module.fail_json(msg="%s" % (error.args[0],))
    module.exit_json(changed=changed, evicted=evicted)


if __name__ == "__main__":
    main()
