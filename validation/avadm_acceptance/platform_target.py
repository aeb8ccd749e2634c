"""What acceptance measures of the platform: its address, and how the suite gets an administrator's account of its own."""

from __future__ import annotations

import json
from typing import cast

from avadm import paths
from avadm.components.ava import component as ava
from avadm.components.catalog import listeners
from avadm.components.model import At
from avadm.components.monitoring.variables import PORTS
from avadm.components.monitoring.variables_tls import METRICS
from avadm.errors import AvadmError
from avadm.kube.ava_admin import DONE, make_admin
from avadm.remote import fleet as own
from avadm.site import placement as places
from avadm.site.model import Site
from avadm_validation.measuring.context import MeasureError
from avadm_validation.measuring.targets import KubeTarget, Listener, MetricsTarget, PlatformTarget
from avadm_validation.protocol.fleet import Fleet, Result

REACHED = frozenset({53, 80, 443})
"""Ports that a user's container may reach beside the object store's: names, and the ingress as everybody outside."""


def closed(site: Site, first: str = "") -> tuple[Listener, ...]:
    """Return each TCP port of the components' table that no user's container may reach.

    Where several nodes have it, of the node ``first`` or a GPU node.
    """
    store = site.components.object_store
    reached = REACHED | ({store.port} if store is not None else set())
    found: dict[str, Listener] = {}
    for node in sorted(site.nodes, key=lambda n: (n.name != first, "gpu" not in n.roles)):
        for number, port in listeners(site, node):
            if port.protocol == "tcp" and port.at in (At.NODE, At.BOTH) and number not in reached:
                name = f"port-{number}-{port.program.replace(' ', '-')}"
                found.setdefault(name, Listener(name, node.name, str(node.address), number, port.always))
    return tuple(found.values())


DASHBOARDS = paths.home() / "roles/grafana/files/dashboards"


def panel(dashboard: str, title: str) -> str:
    """Return the query of a dashboard's panel as a reader sees it first, every variable on all."""
    data = json.loads((DASHBOARDS / f"{dashboard}.json").read_text(encoding="utf-8"))
    (found,) = (p for p in data["panels"] if p["title"] == title)
    query: str = found["targets"][0]["expr"]
    for variable in data["templating"]["list"]:
        query = query.replace(f"${variable['name']}", variable.get("allValue") or "")
    return query


def metrics(site: Site) -> MetricsTarget | None:
    """Return where dashboards of GPUs are evaluated; None where the site has its own Prometheus, or none."""
    if not places.metered(site):
        return None
    node = site.with_role("prometheus")[0]
    return MetricsTarget(
        node=node.name,
        address=f"{node.address}:{PORTS['prometheus']}",
        tls=f"/etc/prometheus/tls/{METRICS}",
        exporter=PORTS["gpu"],
        used=panel("gpu", "Used per machine"),
        free=panel("gpu", "Free per machine"),
        runs=panel("gpu-users", "Utilization of each run's GPUs"),
    )


def platform_target(site: Site, kube: KubeTarget | None) -> PlatformTarget | None:
    """Return what is measured of a site's platform; None where it has none, or no way in."""
    if site.components.ava is None or kube is None or not kube.ingress:
        return None

    def administrator(fleet: Fleet, name: str, password: str) -> Result:
        try:
            # A run's fleet is the installer's; acceptance declares the same shape for itself.
            done = make_admin(cast(own.Fleet, fleet), site, name, password)
        except AvadmError as error:
            raise MeasureError(str(error)) from error
        if done.rc or done.stdout.strip() not in DONE:
            text = (done.error or done.stderr.strip() or done.stdout.strip()).replace(password, "…")
            raise MeasureError(f"{done.node}: no administrator could be made: {text[-300:]}")
        return done

    certificate = site.components.ava.certificate
    return PlatformTarget(
        host=ava.host(site),
        trusted=(certificate.ca or "") if certificate else None,
        address=kube.ingress,
        master=kube.master,
        image=kube.image,
        gpu_nodes=kube.gpu_nodes,
        plain_nodes=tuple(n.name for n in ava.homes(site)),
        make_admin=administrator,
        addresses=kube.addresses,
        ingress=site.with_role("ingress")[0].name,
        metrics=metrics(site),
        folders=bool(ava.mount(site)),
        closed=closed(site),
    )
