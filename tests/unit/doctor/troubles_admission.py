"""Troubles of what the API servers ask before they take an object, and of whom members of etcd trust."""

from typing import Any

from tests.unit.doctor.troubles import Case, Data, parts, put

SERVICES = "services.admission.avadm.io"


def admission(data: Data, part: str) -> list[Any]:
    """Return a member of what both witnesses tell."""
    return [parts(data, name)["admission"][part] for name in ("mast1", "mast2")]


def hook(**values: Any) -> Any:
    def change(data: Data) -> None:
        for hooks in admission(data, "webhooks"):
            hooks[SERVICES] |= values

    return change


def policy(**values: Any) -> Any:
    def change(data: Data) -> None:
        for policies in admission(data, "policies"):
            policies["avadm-restricted"] |= values

    return change


NEVER = {"matchLabels": {"never": "there"}}
NARROW = [
    {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["services", "services/status"],
    }
]
WEBHOOKS, PLUGINS = "admission-webhooks", "admission-plugins"
ADMISSION_CASES = (
    Case(WEBHOOKS, "cluster", "externalIPs", put("mast1", "admission", webhooks={})),
    Case(WEBHOOKS, "cluster", "failurePolicy Ignore, wanted Fail", hook(policy="Ignore")),
    Case(WEBHOOKS, "cluster", "url https://", hook(url="https://10.1.1.1/review")),
    Case(WEBHOOKS, "cluster", "namespaceSelector", hook(selector=NEVER)),
    Case(WEBHOOKS, "cluster", "not asked about UPDATE of services;", hook(rules=NARROW)),
    Case(
        WEBHOOKS,
        "cluster",
        "of team-a: labelled",
        put("mast1", "admission", passed=["kube-system", "team-a"]),
    ),
    Case(
        WEBHOOKS, "cluster", "no PodSecurityPolicy avadm-restricted", put("mast1", "admission", policies={})
    ),
    Case(WEBHOOKS, "cluster", "allows privileged", policy(privileged=True)),
    Case(WEBHOOKS, "cluster", "allows volumes of kind hostPath", policy(volumes=["hostPath"])),
    Case(
        PLUGINS,
        "mast2",
        "without --admission-control PodSecurityPolicy",
        lambda d: parts(d, "mast2")["defences"]["flags"]["kube-apiserver"].update(
            {"admission-control": "NodeRestriction"}
        ),
    ),
    Case(
        PLUGINS,
        "mast2",
        "no such process",
        lambda d: parts(d, "mast2")["defences"]["flags"].pop("kube-apiserver"),
        "unknown",
    ),
    Case("etcd-authorities", "mast2", "has 2 authorities", put("mast2", "etcd_peers", authorities=2), "warn"),
    Case("etcd-authorities", "mast2", "is not there", put("mast2", "etcd_peers", authorities=None)),
    Case("etcd-authorities", "mast2", "no certificate", put("mast2", "etcd_peers", authorities=0)),
)
