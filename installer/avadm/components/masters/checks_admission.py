"""What the API servers ask before they take an object: the webhooks of avadm-admission, and what pods may be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding

URL = "https://127.0.0.1:10261/review"
"""Each API server asks the one on its own node."""
GUARDED = {"matchExpressions": [{"key": "avadm.io/admission", "operator": "NotIn", "values": ["none"]}]}
"""The namespaces whose objects are asked about."""
PASSED = ["kube-system"]
"""The namespaces that are not: labelling another one excludes it."""
WEBHOOKS: dict[str, tuple[str, dict[str, Any], tuple[tuple[str, str], ...], str]] = {
    "services.admission.avadm.io": (
        "Fail",
        GUARDED,
        (
            ("CREATE", "services"),
            ("CREATE", "services/status"),
            ("UPDATE", "services"),
            ("UPDATE", "services/status"),
        ),
        "a Service may take another's address (externalIPs, CVE-2020-8554)",
    ),
    "ingresses.admission.avadm.io": (
        "Fail",
        GUARDED,
        (("CREATE", "ingresses"), ("UPDATE", "ingresses")),
        "a tenant's Ingress may take the platform's name, and with it logins",
    ),
    "endpoints.admission.avadm.io": (
        "Ignore",
        GUARDED,
        (("CREATE", "endpoints"), ("UPDATE", "endpoints")),
        "endpoints may point at addresses that are no pod's",
    ),
    "pods.admission.avadm.io": (
        "Ignore",
        GUARDED,
        (("CREATE", "pods"), ("UPDATE", "pods")),
        "a tenant's pod may choose its address, that of a node's tunnel among others",
    ),
    "nodes.admission.avadm.io": (
        "Fail",
        {},
        (("CREATE", "nodes"), ("UPDATE", "nodes"), ("DELETE", "nodes")),
        "a stolen worker may change its labels and taints, and get the pods of the platform",
    ),
    "node-status.admission.avadm.io": (
        "Ignore",
        {},
        (("UPDATE", "nodes/status"),),
        "a stolen worker may change its labels by way of its status",
    ),
    "volumes.admission.avadm.io": (
        "Fail",
        {},
        (
            ("CREATE", "persistentvolumes"),
            ("DELETE", "persistentvolumes"),
            ("UPDATE", "persistentvolumeclaims"),
        ),
        "who makes volumes may make and delete those of other nodes",
    ),
}
"""Webhook to its failurePolicy, its namespaces, what it is asked about, and what is open without it; as the role
kube_admission registers them."""
POLICY = "avadm-restricted"
OPEN_PODS = "a tenant's pod may be as privileged as its node"
HARMLESS = {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
PLUGINS = {
    "PodSecurityPolicy": OPEN_PODS,
    "ValidatingAdmissionWebhook": "no webhook is asked: externalIPs, endpoints, Ingresses, labels of nodes and volumes are open",
    "NodeRestriction": "a worker's root may change other nodes and their pods",
    "DenyEscalatingExec": "who may exec gets into privileged pods",
    "EventRateLimit": "events of one tenant may fill etcd",
}
"""Admission plug-ins that guard, to what is open without them."""


def _asked(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, (policy, selector, pairs, open_) in WEBHOOKS.items():
        found = data["webhooks"].get(name)
        if found is None:
            yield bad(f"the webhook {name} is not registered: {open_}", "cluster")
            continue
        wrong = [
            f"{what} {had}, wanted {wanted}"
            for what, had, wanted in (
                ("failurePolicy", found["policy"], policy),
                ("url", found["url"], URL),
                ("namespaceSelector", found["selector"], selector),
            )
            if had != wanted
        ]
        wrong += [f"not asked about {o} of {r}" for o, r in pairs if not _covered(found["rules"], o, r)]
        if wrong:
            yield bad(f"the webhook {name}: {'; '.join(wrong)}: {open_}", "cluster")
    if strange := [name for name in data["passed"] if name not in PASSED]:
        yield bad(
            f"admission webhooks do not cover Services and endpoints of {', '.join(strange)}: labelled avadm.io/admission=none",
            "cluster",
            "`kubectl label namespace NAME avadm.io/admission-`, and find who labelled it: the audit log.",
        )
    yield from _policy(data["policies"])


def _covered(rules: Any, operation: str, resource: str) -> bool:
    group, version = ("extensions", "v1beta1") if resource == "ingresses" else ("", "v1")
    asked = (
        ("apiGroups", group),
        ("apiVersions", version),
        ("operations", operation),
        ("resources", resource),
    )
    return any(all({"*", value} & set(rule.get(key) or ()) for key, value in asked) for rule in rules)


def _policy(policies: Any) -> Iterator[Finding]:
    if POLICY not in policies:
        yield bad(f"there is no PodSecurityPolicy {POLICY}: no tenant's pod is made any more", "cluster")
        return
    spec = policies[POLICY]
    given = [
        k
        for k in ("privileged", "hostNetwork", "hostPID", "hostIPC", "hostPorts", "allowedCapabilities")
        if spec.get(k)
    ]
    # The API takes true by default.
    given += ["allowPrivilegeEscalation"] if spec.get("allowPrivilegeEscalation", True) else []
    given += [f"volumes of kind {kind}" for kind in sorted(set(spec.get("volumes") or ()) - HARMLESS)]
    if given:
        yield bad(f"the PodSecurityPolicy {POLICY} allows {', '.join(given)}: {OPEN_PODS}", "cluster")


def _hosts(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for host, (owner, *others) in sorted(data["shared_hosts"].items()):
        namespace = owner.partition("/")[0]
        ignored = [name for name in others if name.partition("/")[0] != namespace]
        yield warn(f"host {host} is served for {owner} alone, not for {', '.join(ignored)}", "cluster")


def _plugins(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    flags = data["flags"].get("kube-apiserver")
    if flags is None:
        yield unknown("kube-apiserver cannot be looked at: no such process")
        return
    on = flags.get("admission-control", "").split(",")
    for name, open_ in PLUGINS.items():
        if name not in on:
            yield bad(f"kube-apiserver runs without --admission-control {name}: {open_}")


_check = partial(Check, roles=("master",), topic="admission", requirement="I7")


CHECKS = (
    _check(
        "admission-webhooks",
        "a webhook of avadm-admission or the policy of pods that is gone or weaker than it was registered",
        ("admission",),
        _asked,
        scope="site",
        remedy="Bring every master up, then `avadm apply masters`: it registers them once each master has an "
        "avadm-admission that "
        "answers. Find who changed it: the audit log of the API servers.",
        good="registered as wanted",
    ),
    _check(
        "ingress-hosts",
        "a host that Ingresses of two namespaces name: the ingress serves the oldest one's",
        ("admission",),
        _hosts,
        scope="site",
        remedy="Delete the host from the Ingress that must not have it. Administrators who share a host between namespaces "
        "set the annotation traefik.ingress.kubernetes.io/router.priority on each Ingress.",
        good="each host in one namespace",
    ),
    _check(
        "admission-plugins",
        "an API server that runs without an admission plug-in that guards",
        ("defences",),
        _plugins,
        remedy="`avadm apply masters` writes the flag and restarts it; kube_apiserver_admission and kube_apiserver_extra_args "
        "of the site may have taken it out.",
        good="all plug-ins that guard are on",
    ),
)
