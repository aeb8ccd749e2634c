"""Faults of Kubernetes that are planted on the lab: parts of it are stopped."""

from tests.controls.control import Act, Fault

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


FAULTS = (
    Fault(
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
    Fault(
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
    Fault(
        "dns-stopped",
        "CoreDNS is stopped on every node with the role dns",
        (Act("dns", "systemctl stop coredns", "systemctl start coredns"),),
        {"K-DNS": ("cluster", "headless", "site", "absent", "absent-site")},
    ),
    Fault(
        "ingress-stopped",
        "the ingress controller is stopped on every node with the role ingress",
        (Act("ingress", "systemctl stop traefik", "systemctl start traefik"),),
        {"K-INGRESS": ("answered", "unknown-host", "endpoints", "websocket")},
    ),
)
