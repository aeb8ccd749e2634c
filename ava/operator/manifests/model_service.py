"""What a service's pods have beside those of other runs, and the objects by which requests reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ava.domain import labels
from ava.domain.model import Run
from ava.domain.spec import Serving
from ava.operator.manifests import pod_parts

PORT = "serve"
HOST = f"{labels.PREFIX}/host"
"""Annotation of the Ingress: the host name, for people who look."""


@dataclass(frozen=True, slots=True)
class ServiceFrontend:
    """How a site lets requests in.

    Attributes:
        domain: services are below it, at a host name each: nothing that one serves is of the origin of another one or of
            the platform's own pages. Empty: services have no address.
        notes: annotations of each Ingress.
        middlewares: the ingress controller's, by who may call; ``group`` has to ask the platform for each request.
    """

    domain: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    middlewares: dict[str, str] = field(default_factory=dict)

    def host(self, address: str) -> str:
        """Return a service's host name, from its first label; empty where services have none."""
        return f"{address}.{self.domain}" if self.domain else ""


def served(pod: dict[str, Any], serving: Serving) -> dict[str, Any]:
    """Return a pod as a service's replica: it is asked for its health, started again when it ends, and named for requests."""
    spec, meta = pod["spec"], pod["metadata"]
    main = spec["containers"][0]
    ask = {"path": serving.health, "port": PORT}
    main = main | {
        "ports": [*main.get("ports", []), {"name": PORT, "containerPort": serving.port}],
        "env": [
            *main["env"],
            {"name": "AVA_MODEL", "value": pod_parts.escape(serving.model)},
            {"name": "AVA_PORT", "value": str(serving.port)},
        ],
        "readinessProbe": {"httpGet": ask, "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 3},
        # 1.9 has no probe for the start: life is asked for when the time to start is over.
        "livenessProbe": {
            "httpGet": ask,
            "initialDelaySeconds": serving.starts_in,
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
    }
    notes = dict(meta["annotations"])
    if serving.metrics is not None:
        notes |= {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(serving.port),
            "prometheus.io/path": serving.metrics,
        }
    return {
        "metadata": meta | {"labels": meta["labels"] | {labels.SERVES: "true"}, "annotations": notes},
        "spec": spec | {"restartPolicy": "Always", "containers": [main, *spec["containers"][1:]]},
    }


def _marks(run: Run) -> dict[str, str]:
    """Return the labels of what lasts for all revisions."""
    return {
        labels.MANAGED: "true",
        labels.RUN: run.id,
        labels.OWNER: run.owner,
        labels.GROUP: run.group,
    }


def name(run: Run) -> str:
    """Return the name of a service's Service and Ingress."""
    return f"run-{run.id}-{PORT}"


def service(run: Run) -> dict[str, Any]:
    """Return the Service: those replicas of all revisions that serve, each at its own port."""
    return {
        "metadata": {"name": name(run), "labels": _marks(run)},
        "spec": {
            "selector": {labels.RUN: run.id, labels.SERVES: "true"},
            "ports": [{"name": PORT, "port": 80, "targetPort": PORT}],
        },
    }


def ingress(run: Run, address: str, serving: Serving, front: ServiceFrontend) -> dict[str, Any]:
    """Return the Ingress: the service's own host name, which no one can choose, and nothing else.

    ``address`` is the first label of that name.

    Raises ValueError where the site has no way to hold callers to who may call.
    """
    middleware = front.middlewares.get(serving.access.value)
    if middleware is None:
        raise ValueError(f"this site's ingress cannot serve to {serving.access.value}")
    host = front.host(address)
    notes = front.notes | {HOST: host, "traefik.ingress.kubernetes.io/router.middlewares": middleware}
    backend = {"serviceName": name(run), "servicePort": 80}
    return {
        "metadata": {"name": name(run), "labels": _marks(run), "annotations": notes},
        "spec": {"rules": [{"host": host, "http": {"paths": [{"path": "/", "backend": backend}]}}]},
    }


def policy(
    run: Run, ports: Sequence[int], web: Sequence[dict[str, Any]], scrapers: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the policy by which the ingress, and where it is to be scraped Prometheus, reach a service.

    Args:
        run: whose replicas.
        ports: of the revisions that there are.
        web: peers (as in a NetworkPolicy) that the site's ingress comes from.
        scrapers: those that Prometheus comes from.
    """
    rules = [
        {"from": list(peers), "ports": [{"protocol": "TCP", "port": port} for port in ports]}
        for peers in (web, scrapers)
        if peers
    ]
    spec: dict[str, Any] = {
        "podSelector": {"matchLabels": {labels.RUN: run.id}},
        "policyTypes": ["Ingress"],
        "ingress": rules,
    }
    return {"metadata": {"name": name(run), "labels": _marks(run)}, "spec": spec}
