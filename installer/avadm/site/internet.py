"""The HTTP proxy to the internet: what the site reaches by it, and what without it."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from avadm.site import placement as places
from avadm.site.model import Site
from avadm.site.profile import Profile

NETWORKS_SINCE = (19, 3)
"""First docker that reads networks in NO_PROXY: Go does since 1.11, and docker 18.09 is still built with Go 1.10."""


def exceptions(site: Site, profile: Profile) -> list[str]:
    """Return what is reached without the proxy, as entries of NO_PROXY.

    With a docker that reads networks in NO_PROXY, a new node changes nothing here, so that no docker is restarted for it.
    """
    network, parts = site.network, site.components
    if _docker(profile) >= NETWORKS_SINCE:
        addresses = [str(network.management)]
    else:
        database, objects = parts.database, parts.object_store
        virtual = (network.api_vip, network.ingress_vip, database and database.vip, objects and objects.vip)
        addresses = [str(a) for a in (*(n.address for n in site.nodes), *virtual) if a]
    store = parts.object_store.name if parts.object_store else None
    own = ["localhost", "127.0.0.1", *addresses, f".{network.domain}", places.registry_name(site)]
    return list(
        dict.fromkeys(
            [*own, f".{places.CLUSTER_DOMAIN}", *([store] if store else []), *site.packages.no_proxy]
        )
    )


def environment(site: Site, profile: Profile) -> dict[str, str]:
    """Return the variables by which programs know the proxy; empty where the site has none."""
    url = site.packages.internet_proxy
    if not url:
        return {}
    return {"http_proxy": url, "https_proxy": url, "no_proxy": ",".join(exceptions(site, profile))}


def proxy_for(host: str, site: Site, profile: Profile) -> str:
    """Return the proxy by which a host (NAME or NAME:PORT) is reached; "" for none."""
    name = host.partition(":")[0].lower()
    past = any(_covers(entry.lower(), name) for entry in exceptions(site, profile))
    return "" if past else site.packages.internet_proxy or ""


def _covers(entry: str, name: str) -> bool:
    try:
        return IPv4Address(name) in IPv4Network(entry)
    except (AddressValueError, ValueError):
        return name == entry.lstrip(".") or name.endswith(f".{entry.lstrip('.')}")


def _docker(profile: Profile) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", profile.versions.get("docker", ""))[:2])
