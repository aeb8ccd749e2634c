#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_calico_routes
short_description: Configure Calico's BGP peers and route reflectors
description:
  - Without reflectors every node has a session (BGP) with every other one. With reflectors each node has sessions with
    these alone, and they with each other. Switches of the site are peers as well.
  - What is wanted is made before what is not wanted any more is removed, with a pause between, so that routes stay.
  - Peers and settings of another making are left alone.
options:
  reflectors:
    description: Names in Calico of the nodes that reflect routes; none for a session of each with each.
    type: list
    elements: str
    required: true
  peers:
    description: Sessions with switches; of all nodes where I(node) is empty. Keys C(address), C(as_number), C(node).
    type: list
    elements: dict
    default: []
  as_number:
    description: Autonomous system of the nodes.
    type: int
    default: 64512
  mesh:
    description: Whether each node has a session with each other one; where absent, unless there are reflectors.
    type: bool
  calicoctl:
    description: The program that has the right certificate.
    type: path
    default: /usr/local/sbin/avadm-calicoctl
  settle:
    description: Seconds that new sessions get before old ones are ended.
    type: int
    default: 15
"""

EXAMPLES = r"""
- name: Configure BGP peers
  avadm_calico_routes:
    reflectors: [w1, w2]
  run_once: true
"""

RETURN = r"""
differing:
  description: What was (in check mode would be) changed.
  type: list
  returned: success
"""

import json
import time

from ansible.module_utils.basic import AnsibleModule

LABEL = "avadm.io/route-reflector"
PEER = "avadm-reflectors"
SWITCH = "avadm-switch-"
AS_NUMBER = 64512
"""Calico's default."""
CLUSTER = "224.0.0.1"
"""All reflectors are one cluster: each hears every node itself, and needs no route from another reflector."""


class RoutesError(Exception):
    """calicoctl did not do what it was asked."""


class Routes(object):
    """Calico's sessions.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        calicoctl: the program.
        sleep: callable(seconds).
        settle: seconds that new sessions get.
    """

    def __init__(self, run, calicoctl, sleep=time.sleep, settle=15):
        self.run, self.calicoctl, self.sleep, self.settle = run, calicoctl, sleep, settle

    def ask(self, *words, **given):
        """Return what calicoctl says; RoutesError where it fails."""
        rc, out, err = self.run([self.calicoctl] + list(words), given.get("data"))
        if rc != 0:
            raise RoutesError("calicoctl %s: %s" % (" ".join(words[:2]), (err or out).strip()[-600:]))
        return out

    def listed(self, kind):
        """Return the objects of a kind by name."""
        return {o["metadata"]["name"]: o for o in json.loads(self.ask("get", kind, "-o", "json"))["items"]}

    def write(self, verb, one):
        """Make or replace an object."""
        one = dict(one, apiVersion="projectcalico.org/v3")
        self.ask(verb, "-f", "-", data=json.dumps(one))

    def plan(self, reflectors, switches=(), as_number=AS_NUMBER, mesh=None):
        """Return (text, action) of what is to be done, in order; None is the pause for new sessions.

        Raises:
            RoutesError: where a reflector is not known to Calico.
        """
        nodes, peers = self.listed("node"), self.listed("bgppeer")
        config = self.listed("bgpconfiguration").get("default")
        unknown = sorted(set(reflectors) - set(nodes))
        if unknown:
            raise RoutesError("Calico knows no node %s; it knows %s" % (unknown[0], ", ".join(sorted(nodes))))
        on, off = [
            [step for step in [self.mark(nodes[n], n in reflectors) for n in names] if step]
            for names in (sorted(reflectors), sorted(set(nodes) - set(reflectors)))
        ]
        spec = dict((config or {}).get("spec") or {})
        mesh = not reflectors if mesh is None else mesh
        # In the order in which they are written: each writes the settings whole.
        meshed = self.mesh(spec, True) if mesh else []
        number = self.number(spec, as_number)
        meshed = meshed or self.mesh(spec, mesh)
        peer = self.peer(peers.get(PEER), bool(reflectors))
        report, ended = self.switches(peers, switches)
        new, old = number + report, off + ended
        new, old = (new + peer + on, old) if reflectors else (new, old + peer)
        new, old = (meshed + new, old) if mesh else (new, old + meshed)
        return new + [None] + old if new and old else new + old

    def switches(self, found, wanted):
        """Return how sessions with switches are made, and those that are not wanted any more removed."""
        specs = {}
        for one in wanted:
            spec = {"peerIP": one["address"], "asNumber": int(one["as_number"])}
            name = SWITCH + "-".join([one["address"].replace(".", "-")] + [n for n in [one.get("node")] if n])
            specs[name] = dict(spec, node=one["node"]) if one.get("node") else spec
        made = [
            ("session %s is made" % name, self.writer("BGPPeer", name, specs[name]))
            for name in sorted(specs)
            if name not in found
            or {k: found[name]["spec"].get(k) for k in ("peerIP", "asNumber", "node")}
            != {k: specs[name].get(k) for k in ("peerIP", "asNumber", "node")}
        ]
        gone = [
            ("session %s is removed" % name, self.remover(name))
            for name in sorted(found)
            if name.startswith(SWITCH) and name not in specs
        ]
        return made, gone

    def writer(self, kind, name, spec):
        """Return the action that makes an object, or changes it."""
        return lambda: self.write("apply", {"kind": kind, "metadata": {"name": name}, "spec": spec})

    def remover(self, name):
        """Return the action that removes a session."""
        return lambda: self.ask("delete", "bgppeer", name)

    def mark(self, node, reflects):
        """Return how a node becomes a reflector or an ordinary node; None where it is what it shall be."""
        meta, bgp = node["metadata"], node["spec"].get("bgp") or {}
        labels = dict(meta.get("labels") or {})
        if (LABEL in labels, bgp.get("routeReflectorClusterID")) == (reflects, CLUSTER if reflects else None):
            return None
        labels.pop(LABEL, None)
        bgp = {k: v for k, v in bgp.items() if k != "routeReflectorClusterID"}
        if reflects:
            labels[LABEL], bgp["routeReflectorClusterID"] = "", CLUSTER
        changed = dict(node, metadata=dict(meta, labels=labels), spec=dict(node["spec"], bgp=bgp))
        text = "%s %s routes" % (meta["name"], "reflects" if reflects else "does not reflect")
        return text, lambda: self.write("replace", changed)

    def number(self, spec, wanted):
        """Return how the nodes' autonomous system is changed, which the settings so far (spec) then have."""
        if spec.get("asNumber", AS_NUMBER) == wanted:
            return []
        spec["asNumber"] = wanted
        return [("the nodes are autonomous system %d" % wanted, self.settings(spec))]

    def mesh(self, spec, on):
        """Return how the sessions of each with each are switched; no setting means that they are on."""
        if spec.get("nodeToNodeMeshEnabled", True) == on:
            return []
        spec["nodeToNodeMeshEnabled"] = on
        text = "sessions of each node with each are %s" % ("on" if on else "off")
        return [(text, self.settings(spec))]

    def settings(self, spec):
        """Return the action that writes the settings as they are now."""
        return self.writer("BGPConfiguration", "default", dict(spec))

    def peer(self, found, wanted):
        """Return how sessions of all nodes with the reflectors are made or removed."""
        spec = {"nodeSelector": "all()", "peerSelector": "has(%s)" % LABEL}
        if not wanted:
            return [("sessions with reflectors are removed", self.remover(PEER))] if found else []
        if found and all(found["spec"].get(k) == v for k, v in spec.items()):
            return []
        return [("sessions with reflectors are made", self.writer("BGPPeer", PEER, spec))]

    def keep(self, dry, *wanted):
        """Make it so (see plan); return what was done, in sentences."""
        steps = self.plan(*wanted)
        for step in [] if dry else steps:
            if step:
                step[1]()
            else:
                self.sleep(self.settle)
        return [step[0] for step in steps if step]


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "reflectors": {"type": "list", "elements": "str", "required": True},
            "peers": {"type": "list", "elements": "dict", "default": []},
            "as_number": {"type": "int", "default": AS_NUMBER},
            "mesh": {"type": "bool"},
            "calicoctl": {"type": "path", "default": "/usr/local/sbin/avadm-calicoctl"},
            "settle": {"type": "int", "default": 15},
        },
        supports_check_mode=True,
    )
    params = module.params

    def run(argv, data):
        return module.run_command(argv, data=data)

    try:
        routes = Routes(run, params["calicoctl"], settle=params["settle"])
        wanted = [params[name] for name in ("reflectors", "peers", "as_number", "mesh")]
        report = routes.keep(module.check_mode, *wanted)
    except (OSError, RoutesError, ValueError) as error:
        module.fail_json(msg="Who tells whom the routes cannot be kept: %s" % error)
    module.exit_json(changed=bool(report), differing=report)


if __name__ == "__main__":
    main()
