#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kube_objects
short_description: Apply the objects of a manifest in Kubernetes
description:
  - Asks the API what the manifest's objects look like (one C(kubectl) to read the manifest, one to read the cluster)
    and applies it only where an object is missing or differs in what the manifest says. What the cluster adds itself
    (defaults, states, versions) is no difference.
  - Waits while the API does not answer.
  - Refuses a manifest with a Job that is not annotated C(avadm.io/repeatable=true), with nothing changed. An upgrade applies
    manifests again, and a job that is only right once resets what it finds.
options:
  path:
    description: The manifest on the node, YAML or JSON, one or more documents.
    type: path
    required: true
  kubeconfig:
    description: How to reach the API, and as whom.
    type: path
    default: /root/.kube/config
  server:
    description: URL of the API server that is asked, rather than the one that I(kubeconfig) names.
    type: str
  unbind:
    description:
      - A label's name. Bindings of roles (of the cluster's and of namespaces') that have it and are not in the manifest are
        removed, so that no subject keeps a right that the manifest no longer gives.
    type: str
  prune:
    description:
      - Objects of these kinds in a namespace that have a label and are not in the manifest are removed.
    type: dict
    suboptions:
      namespace: {description: The namespace., type: str, required: true}
      label: {description: "The label, NAME=VALUE.", type: str, required: true}
      kinds: {description: "Kinds, as C(kubectl) takes them.", type: list, elements: str, required: true}
  timeout:
    description: Seconds that the API may take to answer.
    type: int
    default: 60
  answering_only:
    description: Whether nothing is done, and nothing fails, where the API does not answer at once.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Create RBAC roles for the cluster's components
  avadm_kube_objects:
    path: /etc/kubernetes/rbac.yml
  run_once: true
"""

RETURN = r"""
differing:
  description: The objects that were (in check mode would be) made, changed or removed, as C(KIND NAMESPACE/NAME), and why.
  type: list
  returned: success
"""

import json
import os

from ansible.module_utils.avadm_ceph import wait
from ansible.module_utils.basic import AnsibleModule

REPEATABLE = "avadm.io/repeatable"


class KubeError(Exception):
    """kubectl did not do what it was asked."""


def documents(text):
    """Return the objects of kubectl's JSON: one document after another, lists taken apart."""
    decoder, found, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        one, end = decoder.raw_decode(text, at)
        found += one["items"] if one.get("kind", "").endswith("List") else [one]
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def identity(one):
    """Return KIND NAMESPACE/NAME of an object; the namespace that kubectl takes where there is none is left out."""
    meta = one["metadata"]
    space = meta.get("namespace", "default")
    return "%s %s%s" % (one["kind"], "" if space == "default" else space + "/", meta["name"])


def difference(wanted, found, path=""):
    """Return where a live value lacks something of the wanted one, as text; None where it has all of it."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted):
            # What is empty the API leaves out.
            if key not in found and wanted[key] in (None, {}, [], ""):
                continue
            if key not in found:
                return "%s is missing" % (path + "." + key).lstrip(".")
            reports = difference(wanted[key], found[key], path + "." + key)
            if reports:
                return reports
        return None
    if isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            return "%s: found %d, wanted %d" % (path.lstrip("."), len(found), len(wanted))
        reports = [difference(w, f, "%s[%d]" % (path, i)) for i, (w, f) in enumerate(zip(wanted, found))]  # noqa: B905
        return ([one for one in reports if one] or [None])[0]
    if wanted != found:
        return "%s: found %s, wanted %s" % (path.lstrip("."), json.dumps(found), json.dumps(wanted))
    return None


def repeatable(job):
    """Return whether a job says that running it again changes nothing."""
    return (job["metadata"].get("annotations") or {}).get(REPEATABLE) == "true"


class Objects(object):
    """The objects of one manifest.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        path: the manifest.
        kubeconfig: how to reach the API.
        unbind: label of the bindings that are removed where the manifest does not have them; None for none.
        prune: namespace, label and kinds of other objects that are; None for none.
    """

    def __init__(self, run, path, kubeconfig, unbind=None, prune=None, server=None):
        self.run, self.path = run, path
        self.unbind, self.prune = unbind, prune
        self.way = ["--kubeconfig", kubeconfig] + (["--server", server] if server else [])

    def kubectl(self, *words):
        """Return what kubectl says; KubeError where it fails."""
        argv = ["kubectl"] + self.way + ["--request-timeout=20s"] + list(words)
        rc, out, err = self.run(argv)
        if rc != 0:
            raise KubeError("kubectl %s: %s" % (words[0], (err or out).strip()[-600:]))
        return out

    def unanswered(self):
        """Return why the API does not answer, None where it does."""
        try:
            self.kubectl("get", "--raw=/healthz")
        except KubeError as error:
            return str(error)
        return None

    def wanted(self):
        """Return the manifest's objects."""
        found = documents(
            self.kubectl("create", "--dry-run", "--validate=false", "-o", "json", "-f", self.path)
        )
        once = [identity(one) for one in found if one["kind"] == "Job" and not repeatable(one)]
        if once:
            raise KubeError(
                "%s has %s, which may be right only once, and each upgrade would run it again. Remedy: have it find what is"
                " there and change nothing of it, and annotate it %s=true"
                % (self.path, ", ".join(once), REPEATABLE)
            )
        return found

    def stale(self):
        """Return what is to go: bindings first."""
        asked = []
        if self.unbind:
            asked = [[w, "-l", self.unbind] for w in ("clusterrolebindings", "rolebindings --all-namespaces")]
        if self.prune:
            kinds, space = ",".join(self.prune["kinds"]), self.prune["namespace"]
            asked.append([kinds, "-n", space, "-l", self.prune["label"]])
        if not asked:
            return []
        kept = {identity(one) for one in self.wanted()}
        found = []
        for words in asked:
            found += documents(self.kubectl("get", *(words[0].split() + words[1:] + ["-o", "json"])))
        return [one for one in found if identity(one) not in kept]

    def remove(self, one):
        """Remove an object."""
        meta = one["metadata"]
        words = ["--namespace", meta["namespace"]] if "namespace" in meta else []
        # A job's pods go with it.
        self.kubectl("delete", "--ignore-not-found", one["kind"].lower(), meta["name"], *words)

    def differing(self):
        """Return the objects that are missing or differ, with the first difference of each."""
        wanted = self.wanted()
        live = self.kubectl("get", "--ignore-not-found", "-o", "json", "-f", self.path)
        found = {identity(one): one for one in documents(live)}
        reports = []
        for one in wanted:
            one["metadata"].pop("creationTimestamp", None)
            one.pop("status", None)
            name = identity(one)
            if name not in found:
                reports.append(name + " is missing")
                continue
            # The version that is asked for may be another than the one that is shown.
            one.pop("apiVersion", None)
            lack = difference(one, found[name])
            if lack:
                # What a secret holds is no one's to read in a log.
                reports.append("%s, %s" % (name, "its data differ" if one["kind"] == "Secret" else lack))
        return reports

    def apply(self):
        """Make them so."""
        self.kubectl("apply", "-f", self.path)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "kubeconfig": {"type": "path", "default": "/root/.kube/config"},
            "server": {"type": "str"},
            "unbind": {"type": "str"},
            "prune": {
                "type": "dict",
                "options": {
                    "namespace": {"type": "str", "required": True},
                    "label": {"type": "str", "required": True},
                    "kinds": {"type": "list", "elements": "str", "required": True},
                },
            },
            "timeout": {"type": "int", "default": 60},
            "answering_only": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    objects = Objects(
        module.run_command, *(params[key] for key in ("path", "kubeconfig", "unbind", "prune", "server"))
    )
    if module.check_mode and not os.path.exists(params["path"]):
        module.exit_json(changed=True, differing=["the manifest is not written yet"])
    now = module.check_mode or params["answering_only"]
    missing = wait(objects.unanswered, 0 if now else params["timeout"])
    if missing and params["answering_only"]:
        module.exit_json(changed=False, differing=[])
    if missing:
        if module.check_mode:
            module.exit_json(changed=True, differing=["the API does not answer yet"])
        module.fail_json(msg="The API does not answer after %d s: %s" % (params["timeout"], missing))
    try:
        # First: no one keeps a right because something else cannot be made.
        gone = objects.stale()
        if not module.check_mode:
            for one in gone:
                objects.remove(one)
        report = objects.differing()
        if report and not module.check_mode:
            objects.apply()
            left = objects.differing()
            if left:
                module.fail_json(msg="Kubernetes keeps other objects than were applied: %s" % "; ".join(left))
    except KubeError as error:
        module.fail_json(msg="The objects of %s cannot be kept: %s" % (params["path"], error))
    report += ["%s is no longer wanted" % identity(one) for one in gone]
    module.exit_json(changed=bool(report), differing=report)


if __name__ == "__main__":
    main()
