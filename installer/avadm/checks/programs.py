"""Commands that tell on a node the version of what runs there (I7)."""

from __future__ import annotations

from avadm.site.model import Node, Site

ETCD_CLIENT = (
    *("--cacert", "/etc/etcd/pki/ca.crt"),
    *("--cert", "/etc/etcd/pki/client.crt"),
    *("--key", "/etc/etcd/pki/etcd.key"),
)
Program = tuple[tuple[str, ...], tuple[str, ...]]


def _build_info(port: int) -> tuple[str, ...]:
    """Return the command that reads the version in a Kubernetes server's own metrics, plain HTTP on 127.0.0.1."""
    told = "sed -n 's/.*build_info.*gitVersion=\"v\\([^\"]*\\).*/\\1/p'"
    return ("sh", "-c", f"curl --silent http://127.0.0.1:{port}/metrics | {told}")


def _running(unit: str, argument: str = "--version") -> tuple[str, ...]:
    """Return the command that asks the program that a unit runs, which is not always the one on disk by now."""
    # hyperkube takes its name for the server to be; the others look at no name.
    call = f'exec -a hyperkube "/proc/${{pid#*=}}/exe" {argument}'
    return ("bash", "-c", f"pid=$(systemctl show --property=MainPID {unit}) && {call}")


def _jar(unit: str) -> tuple[str, ...]:
    """Return the command that reads the version in the name of the open jar of a unit's Java, which is what runs."""
    named = "sed -n 's/.*alluxio-core-common-\\([0-9.]*\\)\\.jar$/\\1/p'"
    return (
        "bash",
        "-c",
        f"pid=$(systemctl show --property=MainPID {unit}) && ls -l /proc/${{pid#*=}}/fd | {named} | head -n 1",
    )


CALICO = "docker ps --filter=name='^/calico-node$' --format='{{.Image}}' | sed 's/.*://'"
NODES = ("master", "worker")
# Component to the roles whose nodes run it (`log_store`: the stores of components.logs) and the command there that tells
# the version of what runs.
PROGRAMS: dict[str, Program] = {
    "etcd": (("etcd",), ("curl", "--silent", *ETCD_CLIENT, "https://127.0.0.1:2379/version")),
    "kube-apiserver": (("master",), ("kubectl", "--kubeconfig=/root/.kube/config", "get", "--raw=/version")),
    "kube-controller-manager": (("master",), _build_info(10252)),
    "kube-scheduler": (("master",), _build_info(10251)),
    "kubelet": (NODES, _running("kubelet")),
    "kube-proxy": (NODES, _build_info(10249)),
    "calico-node": (NODES, ("sh", "-c", CALICO)),
    "calico-kube-controllers": (("master",), _running("calico-kube-controllers")),
    "coredns": (("dns",), _running("coredns")),
    "traefik": (("ingress",), _running("traefik", "version")),
    "avadm-admission": (("master",), _running("avadm-admission", "-version")),
    "kube-state-metrics": (("master",), _running("kube-state-metrics")),
    "avadm-registry": (("registry",), _running("avadm-registry")),
    "avadm-registry-writer": (("registry",), _running("avadm-registry-writer")),
    "alluxio-master": (("alluxio_master",), _jar("avadm-alluxio-master")),
    "alluxio-worker": (("alluxio_worker",), _jar("avadm-alluxio-worker")),
    "docker": (NODES, ("docker", "version", "--format", "{{.Server.Version}}")),
    "victoria-logs": (("log_store",), _running("avadm-log-store", "-version")),
    "gpu-device-plugin": (("gpu",), _running("avadm-gpu-device-plugin")),
    "gpu_driver": (("gpu",), ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")),
}


def duties(site: Site, node: Node) -> set[str]:
    """Return a node's roles, and ``log_store`` where it is a store of components.logs."""
    logs = site.components.logs
    return {*node.roles, *(["log_store"] if logs and node.name in logs.stores else [])}
