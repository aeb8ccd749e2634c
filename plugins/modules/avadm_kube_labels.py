#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kube_labels
short_description: Manage labels and taints of a Kubernetes node
description:
  - What was made here is noted in the node's annotation C(avadm.io/kept). So a label or taint that is not wanted any more is
    removed, and those of another making are left alone.
  - Runs on a master, which root's C(kubectl) can ask. The node itself may not change them.
options:
  name:
    description: The node's name in Kubernetes.
    type: str
    required: true
  labels:
    description: Labels, name to value.
    type: dict
    default: {}
  taints:
    description: Taints, C(KEY=VALUE:EFFECT).
    type: list
    elements: str
    default: []
  kubeconfig:
    description: How the API is reached.
    type: path
    default: /root/.kube/config
  timeout:
    description: Seconds that the node may take to register.
    type: int
    default: 180
"""

EXAMPLES = r"""
- name: Set node labels and taints
  avadm_kube_labels:
    name: comp1
    labels: {avadm.io/rack: rack1}
    taints: ["nvidia.com/gpu=:NoSchedule"]
  delegate_to: mast1
"""

RETURN = r"""
differing:
  description: What was (in check mode would be) changed.
  type: list
  returned: success
"""

import json
import os
import time

from ansible.module_utils.basic import AnsibleModule

KEPT = "avadm.io/kept"
PAUSE_S = 3
UNREGISTERED = "the node is not registered yet"


class LabelsError(Exception):
    """kubectl did not do what it was asked."""


def taint(text):
    """Return a taint as the API has it, from KEY=VALUE:EFFECT."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    if not key or not effect:
        raise ValueError("%r is no taint: KEY=VALUE:EFFECT" % text)
    return dict({"key": key, "effect": effect}, **({"value": value} if value else {}))


def identity(one):
    """Return what tells a taint from another: KEY:EFFECT."""
    return "%s:%s" % (one["key"], one["effect"])


def plan(node, labels, taints):
    """Return (sentences, patch) of what a node differs by; no sentence where it differs by nothing.

    Args:
        node: the node as the API has it.
        labels: wanted labels, name to value.
        taints: wanted taints, as the API has them.
    """
    meta, found = node["metadata"], node["spec"].get("taints") or []
    has, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    kept = json.loads(notes.get(KEPT) or "{}")
    reply, change = [], {}
    for name in sorted(labels):
        if has.get(name) != labels[name]:
            reply.append("label %s=%s" % (name, labels[name]))
            change[name] = labels[name]
    for name in sorted(set(kept.get("labels", [])) - set(labels)):
        if name in has:
            reply.append("label %s is removed" % name)
            change[name] = None
    ours = {identity(one): one for one in taints}
    gone = {identity(one) for one in found} & set(kept.get("taints", [])) - set(ours)
    right = [
        i
        for i, one in ours.items()
        if one.get("value") in [f.get("value") for f in found if identity(f) == i]
    ]
    new = [one for one in taints if identity(one) not in right]
    stay = [one for one in found if identity(one) in right or identity(one) not in set(ours) | gone]
    reply += ["taint %s" % identity(one) for one in new]
    reply += ["taint %s is removed" % one for one in sorted(gone)]
    note = json.dumps({"labels": sorted(labels), "taints": sorted(ours)}, sort_keys=True)
    if notes.get(KEPT) != note and not reply:
        reply.append("note of what is kept")
    # With the version that was looked at: anyone who changed the node meanwhile is not overwritten.
    patch = {
        "metadata": {
            "resourceVersion": meta.get("resourceVersion"),
            "labels": change,
            "annotations": {KEPT: note},
        },
    }
    if new or gone:
        patch["spec"] = {"taints": stay + new}
    return reply, patch


class Labels(object):
    """Labels and taints of one node.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        name: the node's.
        kubeconfig: how to reach the API.
        sleep, clock: of the module time.
    """

    def __init__(self, run, name, kubeconfig, sleep=time.sleep, clock=time.time):
        self.run, self.name, self.kubeconfig = run, name, kubeconfig
        self.sleep, self.clock = sleep, clock

    def kubectl(self, *words):
        """Return what kubectl says; LabelsError where it fails."""
        argv = ["kubectl", "--kubeconfig=" + self.kubeconfig, "--request-timeout=10s"] + list(words)
        rc, out, err = self.run(argv)
        if rc != 0:
            raise LabelsError("kubectl %s: %s" % (words[0], (err or out).strip()[-600:]))
        return out

    def once(self, labels, taints, dry):
        """Make it so, or only look; return what was changed, in words."""
        node = json.loads(self.kubectl("get", "node", self.name, "-o", "json"))
        reply, patch = plan(node, labels, taints)
        if reply and not dry:
            self.kubectl("patch", "node", self.name, "--type=merge", "-p", json.dumps(patch, sort_keys=True))
        return reply

    def keep(self, labels, taints, timeout, dry=False):
        """Make it so, as soon as the node is registered; return what was changed, in words.

        Raises:
            LabelsError: after so many seconds the API still did not take it.
        """
        end = self.clock() + timeout
        while True:
            try:
                return self.once(labels, taints, dry)
            except LabelsError as error:
                if dry and "(NotFound)" in str(error):
                    return [UNREGISTERED]
                if dry or self.clock() >= end:
                    raise
            self.sleep(PAUSE_S)


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "labels": {"type": "dict", "default": {}},
            "taints": {"type": "list", "elements": "str", "default": []},
            "kubeconfig": {"type": "path", "default": "/root/.kube/config"},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    given = module.params
    if module.check_mode and not os.path.exists(given["kubeconfig"]):
        module.exit_json(changed=True, differing=[UNREGISTERED])
    node = Labels(module.run_command, given["name"], given["kubeconfig"])
    labels = {name: "%s" % value for name, value in given["labels"].items()}
    try:
        taints = [taint(text) for text in given["taints"]]
        report = node.keep(labels, taints, given["timeout"], module.check_mode)
    except (LabelsError, ValueError) as error:
        module.fail_json(msg="Labels and taints of %s cannot be kept: %s" % (given["name"], error))
    module.exit_json(changed=bool(report), differing=report)


if __name__ == "__main__":
    main()
