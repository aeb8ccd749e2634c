"""Troubles of what the API servers ask before they take an object, and of whom members of etcd trust."""

from functools import partial

from tests.unit.doctor.troubles import Case, bad, lose, put, warn

HOOK = "mast1 admission webhooks services.admission.avadm.io"
POLICY = "mast1 admission policies avadm-restricted"
FLAGS = "mast2 defences flags kube-apiserver"
RESOURCES = ["services", "services/status"]
NARROW = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": RESOURCES}]
UNLIMITED, PLUGINS = "without --admission-control PodSecurityPolicy", "admission-plugins"
hooks = partial(bad, "admission-webhooks", "cluster")
ADMISSION_CASES = (
    hooks("externalIPs", put("mast1 admission", webhooks={})),
    hooks("failurePolicy Ignore, wanted Fail", put(HOOK, policy="Ignore")),
    hooks("url https://", put(HOOK, url="https://10.1.1.1/review")),
    hooks("namespaceSelector", put(HOOK, selector={"matchLabels": {"never": "there"}})),
    hooks("not asked about UPDATE of services;", put(HOOK, rules=NARROW)),
    hooks("of team-a: labelled", put("mast1 admission", passed=["kube-system", "team-a"])),
    hooks("no PodSecurityPolicy avadm-restricted", put("mast1 admission", policies={})),
    hooks("allows privileged", put(POLICY, privileged=True)),
    hooks("allows volumes of kind hostPath", put(POLICY, volumes=["hostPath"])),
    warn(
        "ingress-hosts",
        "cluster",
        "host h.test is served for b/x alone, not for a/y",
        put("mast1 admission shared_hosts", {"h.test": ["b/x", "b/z", "a/y"]}),
    ),
    bad(PLUGINS, "mast2", UNLIMITED, put(FLAGS, **{"admission-control": "NodeRestriction"})),
    Case(PLUGINS, "mast2", "no such process", lose(FLAGS), "unknown"),
    warn("etcd-authorities", "mast2", "has 2 authorities", put("mast2 etcd_peers", authorities=2)),
    bad("etcd-authorities", "mast2", "is not there", put("mast2 etcd_peers", authorities=None)),
    bad("etcd-authorities", "mast2", "no certificate", put("mast2 etcd_peers", authorities=0)),
)
