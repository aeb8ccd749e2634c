"""Faults that turn the checks of Kubernetes red: each changes what a cluster of the unit tests answers.

They are planted as raw data: what kubectl and the pods print goes through the real checks, extraction and judgement. The few
that are planted on the lab too are in kubernetes_lab.py.
"""

from tests.controls.control import Control
from tests.controls.fault import Fault
from tests.controls.limits import FAULTS as LIMITS
from tests.controls.volumes import FAULTS as VOLUMES

TEST = "tests/unit/validation/test_kubernetes_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault(
        "other-api",
        "the API server is of another version",
        "K-PRE",
        ("api",),
        lambda c: setattr(c, "api_version", "v1.9.10"),
        "BLOCKED",
    ),
    Fault(
        "no-image",
        "one node cannot pull the image",
        "K-PRE",
        ("image",),
        lambda c: c.no_image.add("n2"),
        "BLOCKED",
    ),
    Fault(
        "kubelet-stopped", "one node is not Ready", "K-NODES", ("not-ready",), lambda c: c.not_ready.add("n2")
    ),
    Fault(
        "node-missing",
        "a node of the site file has not joined",
        "K-NODES",
        ("not-ready", "other-version"),
        lambda c: c.not_joined.add("n2"),
    ),
    Fault(
        "old-kubelet",
        "one node's kubelet is of another version",
        "K-NODES",
        ("other-version",),
        lambda c: c.kubelets.update(n2="v1.9.10"),
    ),
    Fault(
        "no-pod",
        "no pod gets ready on one node",
        "K-PODS",
        ("missing", "failed-pairs"),
        lambda c: c.no_pod.add("n2"),
    ),
    Fault(
        "one-way",
        "one node's pod cannot reach another's (the other way works)",
        "K-PODS",
        ("failed-pairs",),
        lambda c: c.cut.add(("n1", "n2")),
    ),
    Fault(
        "slow-start",
        "one pod of twenty starts after 60 s",
        "K-PODS",
        ("start-p99",),
        lambda c: c.starts.__setitem__(3, 60.0),
    ),
    Fault(
        "never-started",
        "one pod never runs",
        "K-PODS",
        ("never-ran", "start-p99"),
        lambda c: c.starts.__setitem__(3, None),
    ),
    Fault(
        "no-rules",
        "one node has no rules for the service (kube-proxy stopped)",
        "K-SVC",
        ("answered", "endpoints", "by-name"),
        lambda c: c.no_service.add("n1"),
    ),
    Fault(
        "missing-endpoint",
        "the service leads to one of its endpoints never",
        "K-SVC",
        ("endpoints",),
        lambda c: c.no_endpoint.add("n2"),
    ),
    Fault(
        "dns-down",
        "one node's pods get no answer from the DNS server",
        "K-DNS",
        ("cluster", "headless", "site", "absent", "absent-site"),
        lambda c: c.no_dns.add("n1"),
    ),
    Fault(
        "wildcard",
        "names that do not exist get an address",
        "K-DNS",
        ("absent", "absent-site"),
        lambda c: setattr(c, "wildcard", True),
    ),
    Fault(
        "servfail",
        "for a site's name that does not exist the DNS server says that it failed (SERVFAIL), as CoreDNS' hosts does alone",
        "K-DNS",
        ("absent-site",),
        lambda c: setattr(c, "absent_site", 2),
    ),
    Fault(
        "stale-headless",
        "a headless name leads to a pod that is gone",
        "K-DNS",
        ("headless",),
        lambda c: c.names["heads"].append("10.0.9.9"),
    ),
    Fault(
        "no-ingress",
        "nothing answers at the address for what comes from outside",
        "K-INGRESS",
        ("answered", "unknown-host", "endpoints"),
        lambda c: setattr(c, "way_in", False),
    ),
    Fault(
        "any-host",
        "an unknown host name is served too",
        "K-INGRESS",
        ("unknown-host",),
        lambda c: setattr(c, "any_host", True),
    ),
    Fault(
        "no-upgrade",
        "the way in answers websockets as ordinary requests",
        "K-INGRESS",
        ("websocket",),
        lambda c: setattr(c, "upgrades", False),
    ),
    Fault(
        "cut-off",
        "connections are cut after the second message",
        "K-LB",
        ("tcp",),
        lambda c: setattr(c, "stays_open", 2),
    ),
    Fault(
        "no-address",
        "no address is left for the service",
        "K-LB",
        ("address", "tcp", "endpoints"),
        lambda c: c.given.clear(),
    ),
    Fault(
        "foreign-address",
        "the service has an address that is not the site's",
        "K-LB",
        ("address",),
        lambda c: c.given.__setitem__(0, "10.2.0.99"),
    ),
    Fault(
        "one-pod",
        "all connections lead to one of two pods",
        "K-LB",
        ("endpoints",),
        lambda c: c.stream_pods.pop(),
    ),
    Fault(
        "node-answers",
        "the node that holds the address lets its own kubelet answer there",
        "K-LB",
        ("closed",),
        lambda c: c.leaks.add(10250),
    ),
    Fault(
        "not-taken-back",
        "something answers at the address when the service is gone",
        "K-LB",
        ("gone",),
        lambda c: setattr(c, "takes_back", False),
    ),
    Fault(
        "policy-ignored",
        "policies are not enforced",
        "K-POLICY",
        ("denied",),
        lambda c: setattr(c, "enforced", False),
    ),
    Fault(
        "label-ignored",
        "the allowed label does not open the namespace",
        "K-POLICY",
        ("allowed",),
        lambda c: setattr(c, "label_opens", False),
    ),
    Fault(
        "one-way-closed",
        "a namespace that is closed to others lets them in (the other way is closed)",
        "K-POLICY",
        ("back-denied",),
        lambda c: setattr(c, "enforced_back", False),
    ),
    Fault(
        "own-kept-out",
        "a namespace that is closed to others keeps its own pods out too",
        "K-POLICY",
        ("inside",),
        lambda c: setattr(c, "own_open", False),
    ),
    Fault(
        "never-back",
        "the other namespace never reached one of the pods: that it is kept out proves nothing",
        "K-POLICY",
        ("back-before",),
        lambda c: c.cut.add(("guarded", "n2")),
    ),
    Fault(
        "never-open",
        "the guarded pod cannot be reached without a policy either: that it is kept shut proves nothing",
        "K-POLICY",
        ("open-before", "allowed"),
        lambda c: setattr(c, "guarded", False),
    ),
    Fault(
        "env-gives-gpus",
        "NVIDIA_VISIBLE_DEVICES=all gives a pod without request all GPUs (nvidia-docker#583)",
        "K-GPU",
        ("asked-none",),
        lambda c: c.cards.update(none=[0, 1, 2, 3]),
    ),
    Fault(
        "all-gpus-old-image",
        "an image of nvidia-docker 1 (CUDA_VERSION alone) gives a pod without request all GPUs",
        "K-GPU",
        ("asked-none",),
        lambda c: c.cards.update(old=[0, 1, 2, 3]),
    ),
    Fault(
        "all-gpus-beside",
        "NVIDIA_VISIBLE_DEVICES=all gives a pod that asked for one GPU all of them",
        "K-GPU",
        ("asked-one",),
        lambda c: c.cards.update(one=[0, 1, 2, 3]),
    ),
    Fault(
        "open-cgroup",
        "the kernel lets a pod without request open a card by a device file of its own",
        "K-GPU",
        ("asked-none",),
        lambda c: c.opens.update(none=[3]),
    ),
    Fault(
        "one-gpu",
        "a pod that asked for two gets one",
        "K-GPU",
        ("asked-two",),
        lambda c: c.cards.update(gpus=[0]),
    ),
    Fault(
        "no-free-gpu",
        "no two GPUs are free",
        "K-GPU",
        (),
        lambda c: setattr(c, "gpu_phase", "Pending"),
        "BLOCKED",
    ),
    Fault(
        "slow-api",
        "two of a hundred changes take 3 s",
        "K-API",
        ("write-p99",),
        lambda c: c.writes.__setitem__(slice(0, 5), [3.0] * 5),
    ),
    Fault(
        "api-errors",
        "a request is answered with an error",
        "K-API",
        ("errors",),
        lambda c: c.api_errors.append("GET /x: 500 etcd"),
    ),
    Fault(
        "no-limit",
        "the limit of memory is not enforced",
        "K-MEM",
        ("killed",),
        lambda c: setattr(c, "hog", {"terminated": {"reason": "Completed"}}),
    ),
    Fault(
        "killed-otherwise",
        "it is killed, and the kernel names another control group",
        "K-MEM",
        ("killed",),
        lambda c: (
            setattr(c, "hog", {"terminated": {"reason": "Error", "exitCode": 137}}),
            setattr(c, "oom", "x/other\n"),
        ),
    ),
    Fault(
        "killed-together",
        "the neighbour is ended with the container over its limit",
        "K-MEM",
        ("harmed",),
        lambda c: setattr(c, "neighbour", {"terminated": {"reason": "OOMKilled"}}),
    ),
    *VOLUMES,
    *LIMITS,
)

CONTROLS = tuple(
    Control(
        f.name,
        f.check,
        f.text,
        f"{f.verdict} ({', '.join(f.metrics)})" if f.metrics else f.verdict,
        "raw data",
        TEST,
    )
    for f in FAULTS
)
