"""Manifests of what the Kubernetes suite makes, all of it in namespaces of its own."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from avadm_validation.measuring.targets import KubeTarget

SPACE = "avadm-accept"
OTHER = "avadm-accept-other"
QUOTA = "avadm-accept-quota"
"""Here pods must fit a quota: nothing else may be made here."""
SPACES = (SPACE, OTHER, QUOTA)
PORT = 8080
ECHO = {"app": "echo"}
PROGRAM, STREAMS = "/agent/kubeagent.py", "/agent/kubestream.py"
STREAM = {"app": "stream"}
STREAM_PORTS = {"tcp": 8022, "websocket": 8080}
LABEL = "avadm-accept"


def tool(name: str) -> str:
    """Return the source of a program of the pods."""
    return (files("avadm_validation") / "tools" / name).read_text("utf-8")


def namespace(name: str) -> dict[str, Any]:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def program(space: str) -> dict[str, Any]:
    """Return the pods' program as a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "agent", "namespace": space},
        "data": {name: tool(name) for name in ("kubeagent.py", "kubestream.py")},
    }


def container(
    kube: KubeTarget,
    name: str,
    arguments: list[str],
    env: dict[str, str] | None = None,
    program: str = PROGRAM,
    **more: Any,
) -> dict[str, Any]:
    """Return a container that runs a program of the pods with arguments; it knows its node's and pod's name."""

    def field(path: str) -> dict[str, Any]:
        return {"fieldRef": {"fieldPath": path}}

    return {
        "name": name,
        "image": kube.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", program, *arguments],
        "env": [
            {"name": "NODE", "valueFrom": field("spec.nodeName")},
            {"name": "POD", "valueFrom": field("metadata.name")},
            *({"name": k, "value": v} for k, v in (env or {}).items()),
        ],
        "volumeMounts": [{"name": "agent", "mountPath": "/agent"}],
        **more,
    }


def spec(containers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return what a pod is made of."""
    return {
        "containers": containers,
        "volumes": [{"name": "agent", "configMap": {"name": "agent"}}],
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        # Where the platform is, GPU nodes are for pods that ask for GPUs; here they are nodes like the others.
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        **more,
    }


def pod(space: str, name: str, labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    """Return a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, "labels": labels},
        "spec": spec,
    }


def server(kube: KubeTarget) -> dict[str, Any]:
    """Return a container that serves its name, ready as soon as it does."""
    ready = {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1, "timeoutSeconds": 5}
    return container(kube, "echo", ["serve", str(PORT)], readinessProbe=ready)


def everywhere(kube: KubeTarget) -> dict[str, Any]:
    """Return the DaemonSet that serves on every node, masters too."""
    template = {
        "metadata": {"labels": ECHO},
        "spec": spec([server(kube)], tolerations=[{"operator": "Exists"}]),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "echo", "namespace": SPACE},
        "spec": {"selector": {"matchLabels": ECHO}, "template": template},
    }


def service(name: str, space: str = SPACE, **more: Any) -> dict[str, Any]:
    """Return a service of the pods that serve."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": space},
        "spec": {"selector": ECHO, "ports": [{"port": 80, "targetPort": PORT}], **more},
    }


def streamers(kube: KubeTarget) -> dict[str, Any]:
    """Return two pods, on two nodes where there are two, that serve connections that stay open."""
    ready = {"tcpSocket": {"port": STREAM_PORTS["tcp"]}, "periodSeconds": 1}
    one = container(
        kube, "stream", ["serve", json.dumps(STREAM_PORTS)], program=STREAMS, readinessProbe=ready
    )
    apart = {"labelSelector": {"matchLabels": STREAM}, "topologyKey": "kubernetes.io/hostname"}
    spread = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": apart}]}
    template = {"metadata": {"labels": STREAM}, "spec": spec([one], affinity={"podAntiAffinity": spread})}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "stream", "namespace": SPACE},
        "spec": {"replicas": 2, "selector": {"matchLabels": STREAM}, "template": template},
    }


def ingress(host: str, service: str = "echo") -> dict[str, Any]:
    """Return the way in from outside to a service's pods, for a host name."""
    backend = {"serviceName": service, "servicePort": 80}
    return {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": service, "namespace": SPACE},
        "spec": {"rules": [{"host": host, "http": {"paths": [{"path": "/", "backend": backend}]}}]},
    }


def closed(space: str, *allowed: dict[str, Any]) -> dict[str, Any]:
    """Return the policy that lets nothing into a namespace but from ``allowed`` peers."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "closed", "namespace": space},
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": list(allowed)}] if allowed else [],
        },
    }
