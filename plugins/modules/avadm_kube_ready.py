#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kube_ready
short_description: Wait until jobs are done and deployments have rolled out
description:
  - Runs on a master, which root's C(kubectl) can ask. Changes nothing.
  - Where it takes too long, or a job has failed, says what its pods wait for, and their last lines.
options:
  namespace: {description: Where they are., type: str, required: true}
  jobs: {description: Names of jobs that are to be done., type: list, elements: str}
  deployments: {description: Names of deployments that are to have rolled out., type: list, elements: str}
  kubeconfig: {description: "How to reach the API, and as whom.", type: path, default: /root/.kube/config}
  timeout: {description: Seconds that it may take., type: int, default: 180}
"""

EXAMPLES = r"""
- name: Wait for the migration
  avadm_kube_ready:
    namespace: ava-system
    jobs: [migrate-0.1.0-3b7dae2e9460]
"""

RETURN = r"""
waited:
  description: Seconds that it took.
  type: int
  returned: success
"""

import json
import time

from ansible.module_utils.basic import AnsibleModule

LINES = 15
"""Lines of a container that are reported."""


class ReadyError(Exception):
    """Something failed and waiting is of no use."""


class Ready(object):
    """What is waited for.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        namespace: where.
        kubeconfig: how to reach the API.
    """

    def __init__(self, run, namespace, kubeconfig):
        self.run, self.namespace, self.kubeconfig = run, namespace, kubeconfig

    def kubectl(self, *words):
        """Return what kubectl says, None where it fails."""
        argv = ["kubectl", "--kubeconfig", self.kubeconfig, "--request-timeout=20s", "-n", self.namespace]
        rc, out, _ = self.run(argv + list(words))
        return out if rc == 0 else None

    def get(self, kind, name):
        """Return an object, None where it is not there or the API does not answer."""
        out = self.kubectl("get", kind, name, "-o", "json")
        return json.loads(out) if out else None

    def job(self, name):
        """Return why a job is not done, None where it is."""
        found = self.get("job", name)
        if found is None:
            return "job %s is not there" % name
        for one in found.get("status", {}).get("conditions") or []:
            if one["status"] == "True" and one["type"] == "Complete":
                return None
            if one["status"] == "True" and one["type"] == "Failed":
                raise ReadyError("job %s has failed: %s" % (name, one.get("message", "")))
        return "job %s is not done" % name

    def deployment(self, name):
        """Return why a deployment has not rolled out, None where it has."""
        found = self.get("deployment", name)
        if found is None:
            return "deployment %s is not there" % name
        status, wanted = found.get("status", {}), found["spec"].get("replicas", 1)
        seen = status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0)
        have = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
        if seen and have == [wanted] * 3:
            return None
        return "deployment %s: %d new, %d in all, %d available, wanted %d" % tuple([name] + have + [wanted])

    def missing(self, jobs, deployments):
        """Return what is still missing."""
        reports = [self.job(name) for name in jobs] + [self.deployment(name) for name in deployments]
        return [one for one in reports if one]

    def pods(self, of):
        """Return what the pods of these jobs and deployments wait for, and the last lines of those that failed."""
        out = self.kubectl("get", "pods", "-o", "json")
        reports = []
        for pod in json.loads(out)["items"] if out else []:
            name = pod["metadata"]["name"]
            if not any(name.startswith(one + "-") for one in of):
                continue
            reports += self.pod(name, pod.get("status", {}))
        return reports

    def pod(self, name, status):
        """Return what a pod waits for."""
        reports = [
            "%s: %s" % (name, c.get("message") or c.get("reason", ""))
            for c in status.get("conditions") or []
            if c["status"] == "False" and c["type"] == "PodScheduled"
        ]
        for c in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
            if c.get("ready"):
                continue
            waits = c.get("state", {}).get("waiting") or {}
            reports.append("%s: %s %s" % (name, waits.get("reason", "not ready"), waits.get("message", "")))
            last = self.kubectl("logs", name, "-c", c["name"], "--tail=%d" % LINES)
            if not last and c.get("restartCount"):
                last = self.kubectl("logs", name, "-c", c["name"], "--tail=%d" % LINES, "--previous")
            reports += ["  " + line for line in (last or "").splitlines()]
        return reports


def wait(ready, jobs, deployments, timeout, clock=time.time, sleep=time.sleep):
    """Wait until nothing is missing; ReadyError with what is where that takes too long."""
    until = clock() + timeout
    while True:
        missing = ready.missing(jobs, deployments)
        if not missing:
            return
        if clock() >= until:
            raise ReadyError("after %d s: %s" % (timeout, "; ".join(missing)))
        sleep(1)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "namespace": {"type": "str", "required": True},
            "jobs": {"type": "list", "elements": "str", "default": []},
            "deployments": {"type": "list", "elements": "str", "default": []},
            "kubeconfig": {"type": "path", "default": "/root/.kube/config"},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    given = module.params
    if module.check_mode:
        module.exit_json(changed=False, waited=0)
    ready = Ready(module.run_command, given["namespace"], given["kubeconfig"])
    began = time.time()
    try:
        wait(ready, given["jobs"], given["deployments"], given["timeout"])
    except ReadyError as error:
        module.fail_json(msg="\n".join([str(error)] + ready.pods(given["jobs"] + given["deployments"])))
    module.exit_json(changed=False, waited=int(time.time() - began))


if __name__ == "__main__":
    main()
