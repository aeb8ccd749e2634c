"""A service of two replicas on two workers with a disruption budget, for tests that ask it while nodes are drained."""

import contextlib

from tests.lab.waiting import wait

SERVE = "python3 -m http.server 8080 --directory /etc"
PATH = "/hostname"


def ready(kube, space):
    """Return how many replicas are ready."""
    return kube.get(f"deployment web -n {space}")["status"].get("readyReplicas", 0)


@contextlib.contextmanager
def web(kube, registry, space, least):
    """Have two replicas behind a service, and a budget; yield the address of the service.

    Args:
        kube: the cluster.
        registry: HOST:PORT, as nodes name it.
        space: a namespace that exists.
        least: replicas that the budget wants.
    """
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": f"{registry}/avadm/base:12",
        "command": SERVE.split(),
        "readinessProbe": {"httpGet": {"path": PATH, "port": 8080}, "periodSeconds": 1},
    }
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    spread = [{"weight": 100, "podAffinityTerm": term}]
    spec = {
        "containers": [container],
        # Where the platform is, two of the lab's workers are for pods that ask for GPUs.
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": spread}},
        # As process 1 it does not heed SIGTERM: it serves on until then, while no new request is led to it.
        "terminationGracePeriodSeconds": 3,
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    meta = {"name": "web", "namespace": space}
    kube.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "policy/v1beta1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"minAvailable": least, "selector": {"matchLabels": labels}},
        },
    )
    try:
        assert wait(lambda: ready(kube, space) == 2, 90), kube.ctl(f"describe pods -n {space}")
        yield kube.get(f"service web -n {space}")["spec"]["clusterIP"]
    finally:
        kube.ctl(f"delete deployment,service,poddisruptionbudget web -n {space}")
