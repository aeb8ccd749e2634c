"""Faults that turn the checks of Kubernetes red: each changes what a cluster of the unit tests answers.

They are planted as raw data: what kubectl and the pods print goes through the real checks, extraction and judgement. Those of
``LAB`` are planted on the lab.
"""

from tests.controls.control import Act, Fault, LabFault, controls

TEST = "tests/unit/validation/test_kubernetes_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault("other-api", "the API server is of another version", "K-PRE", ("api",),
          lambda c: setattr(c, "api_version", "v1.9.10"), "BLOCKED"),
    Fault("kubelet-stopped", "one node is not Ready", "K-NODES", ("not-ready",), lambda c: c.not_ready.add("n2")),
    Fault("old-kubelet", "one node's kubelet is of another version", "K-NODES", ("other-version",),
          lambda c: c.kubelets.update(n2="v1.9.10")),
    Fault("one-way", "one node's pod cannot reach another's (the other way works)", "K-PODS", ("failed-pairs",),
          lambda c: c.cut.add(("n1", "n2"))),
    Fault("slow-start", "one pod of twenty starts after 60 s", "K-PODS", ("start-p99",),
          lambda c: c.starts.__setitem__(3, 60.0)),
    Fault("never-started", "one pod never runs", "K-PODS", ("never-ran", "start-p99"), lambda c: c.starts.__setitem__(3, None)),
    Fault("missing-endpoint", "the service leads to one of its endpoints never", "K-SVC", ("endpoints",),
          lambda c: c.no_endpoint.add("n2")),
    Fault("wildcard", "names that do not exist get an address", "K-DNS", ("absent", "absent-site"),
          lambda c: setattr(c, "wildcard", True)),
    Fault("servfail",
          "for a site's name that does not exist the DNS server says that it failed (SERVFAIL), as CoreDNS' hosts does alone",
          "K-DNS", ("absent-site",), lambda c: setattr(c, "absent_site", 2)),
    Fault("any-host", "an unknown host name is served too", "K-INGRESS", ("unknown-host",),
          lambda c: setattr(c, "any_host", True)),
    Fault("no-upgrade", "the way in answers websockets as ordinary requests", "K-INGRESS", ("websocket",),
          lambda c: setattr(c, "upgrades", False)),
    Fault("cut-off", "connections are cut after the second message", "K-LB", ("tcp",), lambda c: setattr(c, "stays_open", 2)),
    Fault("foreign-address", "the service has an address that is not the site's", "K-LB", ("address",),
          lambda c: c.given.__setitem__(0, "10.2.0.99")),
    Fault("node-answers", "the node that holds the address lets its own kubelet answer there", "K-LB", ("closed",),
          lambda c: c.leaks.add(10250)),
    Fault("policy-ignored", "policies are not enforced", "K-POLICY", ("denied",), lambda c: setattr(c, "enforced", False)),
    Fault("label-ignored", "the allowed label does not open the namespace", "K-POLICY", ("allowed",),
          lambda c: setattr(c, "label_opens", False)),
    Fault("one-way-closed", "a namespace that is closed to others lets them in (the other way is closed)", "K-POLICY",
          ("back-denied",), lambda c: setattr(c, "enforced_back", False)),
    Fault("never-open", "the guarded pod cannot be reached without a policy either: that it is kept shut proves nothing",
          "K-POLICY", ("open-before", "allowed"), lambda c: setattr(c, "guarded", False)),
    Fault("env-gives-gpus", "NVIDIA_VISIBLE_DEVICES=all gives a pod without request all GPUs (nvidia-docker#583)", "K-GPU",
          ("asked-none",), lambda c: c.cards.update(none=[0, 1, 2, 3])),
    Fault("open-cgroup", "the kernel lets a pod without request open a card by a device file of its own", "K-GPU",
          ("asked-none",), lambda c: c.opens.update(none=[3])),
    Fault("one-gpu", "a pod that asked for two gets one", "K-GPU", ("asked-two",), lambda c: c.cards.update(gpus=[0])),
    Fault("no-free-gpu", "no two GPUs are free", "K-GPU", (), lambda c: setattr(c, "gpu_phase", "Pending"), "BLOCKED"),
    Fault("no-limit", "the limit of memory is not enforced", "K-MEM", ("killed",),
          lambda c: setattr(c, "hog", {"terminated": {"reason": "Completed"}})),
    Fault("killed-otherwise", "it is killed, and the kernel names another control group", "K-MEM", ("killed",),
          lambda c: (setattr(c, "hog", {"terminated": {"reason": "Error", "exitCode": 137}}), setattr(c, "oom", "x/other\n"))),
    Fault("killed-together", "the neighbour is ended with the container over its limit", "K-MEM", ("harmed",),
          lambda c: setattr(c, "neighbour", {"terminated": {"reason": "OOMKilled"}})),
    Fault("slow-api", "two of a hundred changes take 3 s", "K-API", ("write-p99",),
          lambda c: c.writes.__setitem__(slice(0, 5), [3.0] * 5)),
    Fault("few-requests", "the API answers 15 requests in the time of five hundred", "K-API", ("requests",),
          lambda c: [times.__delitem__(slice(5, None)) for times in (c.writes, c.gets, c.lists)]),
    Fault("api-errors", "a request is answered with an error", "K-API", ("errors",),
          lambda c: c.api_errors.append("GET /x: 500 etcd")),
    Fault("class-missing", "a storage class of the site file is not there", "K-VOL", ("classes",),
          lambda c: c.volumes.classes.remove("local")),
    Fault("other-content", "the pod on the other node reads other bytes than were written", "K-VOL", ("same",),
          lambda c: c.volumes.spoiled.add("cephfs")),
    Fault("one-node", "both pods ran on one node: what another node would read is not known", "K-VOL", ("same",),
          lambda c: c.volumes.together.add("cephfs")),
    Fault("two-writers", "a second node mounts the block volume while the first has it", "K-VOL-RBD", ("refused", "mounted"),
          lambda c: (setattr(c.volumes, "let_in", True), setattr(c.volumes, "mounted_twice", True))),
    Fault("waits-for-nothing", "the second pod waits, and no event says for what: it may wait for anything", "K-VOL-RBD",
          ("refused",), lambda c: setattr(c.volumes, "silent", True)),
    Fault("no-local-volume", "no node makes the local volume", "K-VOL-LOCAL", ("bound",),
          lambda c: c.volumes.unbound.add("local")),
    Fault("no-quota", "the API server does not ask ResourceQuota: everything is admitted", "K-QUOTA",
          ("over-cpu", "over-memory", "says-nothing", "counted"), lambda c: c.limits.enforced.clear()),
    Fault("other-refusal", "pods are refused with 403, but not for the quota", "K-QUOTA",
          ("admitted", "over-cpu", "over-memory", "says-nothing"), lambda c: setattr(c.limits, "forbidden", True)),
    Fault("not-given-back", "what deleted pods had asked for stays counted", "K-QUOTA", ("freed",),
          lambda c: setattr(c.limits, "returns", False)),
    Fault("budget-ignored", "the eviction beyond the budget is granted", "K-EVICT", ("refused", "least-ready"),
          lambda c: setattr(c.limits, "budget_kept", False)),
    Fault("never-granted", "no eviction is granted, with room in the budget", "K-EVICT", ("granted",),
          lambda c: setattr(c.limits, "grants", False)),
    Fault("other-threshold", "one kubelet evicts at another amount of memory than the site file says", "K-EVICT",
          ("other-limits",), lambda c: c.limits.kept.update(n2={"evictionHard": {"memory.available": "500Mi"}})),
    Fault("kubelet-silent", "one kubelet does not tell what it runs with", "K-EVICT", (), lambda c: c.limits.silent.add("n2"),
          "INCONCLUSIVE"),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)

# A worker's own kubectl, as its kubelet: what the API says of this very node.
STATE = "kubectl --kubeconfig=/etc/kubernetes/kubelet.kubeconfig --request-timeout=5s get node $(hostname -s) --no-headers"


def _until(state):
    """Return a script that waits until this node is Ready or NotReady."""
    late = "[ $(date +%s) -lt $end ] || exit 1"
    return f"end=$(($(date +%s) + 90)); until {STATE} | grep -qw {state}; do {late}; sleep 1; done"


DAEMON = "/etc/docker/daemon.json"


def _default(runtime):
    """Return a script by which docker reads its configuration, after which this runtime must be its default."""
    asked = "docker info --format '{{.DefaultRuntime}}'"
    late = "[ $(date +%s) -lt $end ] || exit 1"
    return f'systemctl reload docker; end=$(($(date +%s) + 30)); until [ "$({asked})" = {runtime} ]; do {late}; sleep 1; done'


LAB = (
    LabFault(
        "node-not-ready",
        "kubelet of a worker is stopped",
        (
            Act(
                "worker:-1",
                f"systemctl stop kubelet; {_until('NotReady')}",
                f"systemctl start kubelet; {_until('Ready')}",
            ),
        ),
        {"K-NODES": ("not-ready",)},
    ),
    LabFault(
        "nvidia-default",
        "a GPU node is left with NVIDIA's runtime as docker's default",
        (
            Act(
                "gpu:0",
                f"cp -p {DAEMON} {DAEMON}.planted && "
                f'sed -i \'s/"default-runtime": "[^"]*"/"default-runtime": "nvidia"/\' {DAEMON} && {_default("nvidia")}',
                f"[ ! -e {DAEMON}.planted ] || {{ mv {DAEMON}.planted {DAEMON} && {_default('lab')}; }}",
            ),
        ),
        {"K-GPU": ("asked-one", "asked-none")},
    ),
    LabFault(
        "dns-stopped",
        "CoreDNS is stopped on every node with the role dns",
        (Act("dns", "systemctl stop coredns", "systemctl start coredns"),),
        {"K-DNS": ("cluster", "headless", "site", "absent", "absent-site")},
    ),
    LabFault(
        "ingress-stopped",
        "the ingress controller is stopped on every node with the role ingress",
        (Act("ingress", "systemctl stop traefik", "systemctl start traefik"),),
        {"K-INGRESS": ("answered", "unknown-host", "endpoints", "websocket")},
    ),
)
