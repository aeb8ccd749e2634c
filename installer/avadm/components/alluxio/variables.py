"""Variables of the role alluxio: who serves the cache, its under stores, and what its clients see (I4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from avadm.catalogue import finding
from avadm.components.alluxio import placement as cache
from avadm.components.alluxio.options import Alluxio, CacheMount, HdfsStore, S3Store
from avadm.components.objects.object_pools import gateways
from avadm.components.objects.variables import REGION, endpoint, keys_of
from avadm.errors import AvadmError
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.model import Authority
from avadm.pki.store import KeyStore
from avadm.site.model import Node, Site

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

NAMENODE_PORT = 8020
"""Where a namenode answers, by Hadoop's default."""
METRICS = "/metrics/prometheus/"
"""Path of the metrics; without the slash at its end the answer is a redirection."""
LACKS = {
    "s3": "S3 under stores (no jar for them is available)",
    "fuse": "mounts on clients (no FUSE; set fuse: false)",
    "masters": "elections without ZooKeeper (one master only)",
    "recipe": "a recipe of its artifact",
}
"""What Alluxio 1.8 is without (docs/how-to/object-store-and-cache.md)."""


CLIENT = "avadm.Hdfs"
"""Hadoop's client as the artifact has it: an HDFS that does not answer is an error for who asks, and not empty."""
FAILOVER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
PATIENCE = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "500",
    "dfs.client.failover.sleep.max.millis": "4000",
    "ipc.client.connect.timeout": "5000",
    "ipc.client.connect.max.retries": "0",
    "ipc.client.connect.max.retries.on.timeouts": "1",
}
"""How long an HDFS that does not answer is waited for: some 20 s where none listens, so that a change of the active namenode
is not noticed. Hadoop's own are 15 minutes, in which a master of the cache answers no one who asks for what lies there."""


@dataclass(frozen=True)
class Reach:
    """How a bucket is reached: its store's URL, the region that requests are signed for, the vault variables of its keys."""

    endpoint: str
    region: str
    access_key: str
    secret_key: str


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the role, and what Prometheus reads of it; nothing where the site has no cache.

    Raises:
        AvadmError: the profile's release or its Java lacks what the site file asks for, or a file cannot be read.
    """
    site_file, certificates = given.file, given.store
    site, profile = site_file.site, site_file.profile
    knobs = site.components.alluxio
    if knobs is None:
        return
    refused = lacking(site, profile.versions.get("alluxio-master", ""), profile.features)
    if refused:
        where = site_file.where(["components", "alluxio"])
        raise AvadmError(
            [finding("cache-lacks", where, f, w, what=what, remedy=r) for what, f, w, r in refused]
        )
    masters = [str(n.address) for n in site.with_role("alluxio_master")]
    out.all |= {
        "alluxio_packages": profile.packages.get("alluxio", []),
        "alluxio_program": "{{ artifacts.alluxio.files['alluxio.tar'] }}",
        "alluxio_java_options": profile.features.get("alluxio_java_options", []),
        "alluxio_masters": masters,
        "alluxio_tiers": [t.model_dump() for t in knobs.tiers],
        "alluxio_block_mib": knobs.block_mib or 0,
        "alluxio_master_heap_mib": knobs.master_heap_mib or 0,
        "alluxio_worker_heap_mib": knobs.worker_heap_mib or 0,
        "alluxio_client_heap_mib": knobs.client_heap_mib or 0,
        "alluxio_sync_interval_s": knobs.sync_interval_s,
        "alluxio_mount_point": knobs.mount_point,
        "alluxio_fuse": knobs.fuse,
        "alluxio_mounts": [_mount(m, site) for m in knobs.mounts],
        "alluxio_cephfs": cephfs(knobs, site),
        "alluxio_hdfs_user": knobs.hdfs_user if any(m.hdfs for m in knobs.mounts) else "",
        "alluxio_authorities": _authorities(site_file, certificates),
    }
    for name in sorted({m.s3.secret for m in knobs.mounts if m.s3 and m.s3.secret}):
        for part in ("access_key", "secret_key"):
            out.secrets[f"vault_{name}_{part}"] = _theirs(site_file, f"vault_{name}_{part}")
    own = {n.name for n in cache.clients(site)}
    for node in cache.members(site):
        out.host(node.name).update(
            alluxio_address=str(node.address),
            alluxio_parts=parts(node, node.name in own),
            # Nothing else of weight runs there: the sizes are computed from all of its memory.
            alluxio_dedicated=dedicated(node),
            alluxio_mounter=str(node.address) == masters[0] if masters else False,
        )
    jobs = out.all.get("prometheus_jobs", {})
    report: dict[str, Any] = {"client": "", "path": METRICS, "interval_s": 0}
    out.all["prometheus_jobs"] = jobs | {f"alluxio-{kind}": dict(report) for kind in ("master", "worker")}
    out.all["prometheus_more_rules"] = [*out.all.get("prometheus_more_rules", []), "cache"]
    out.all["grafana_more_dashboards"] = [*out.all.get("grafana_more_dashboards", []), "cache"]


def lacking(site: Site, version: str, features: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return what a site asks of its cache and cannot have: what, found, wanted, remedy."""
    knobs = site.components.alluxio
    if knobs is None:
        return []
    stores = any(m.s3 for m in knobs.mounts)
    if version.startswith("1."):
        several = len(site.with_role("alluxio_master")) > 1
        asked = {"s3": stores, "fuse": knobs.fuse, "masters": several, "recipe": True}
        found = "; ".join(LACKS[name] for name, is_asked in asked.items() if is_asked)
        remedy = "Choose a profile with 2.9.6, whose clients and servers are of one release."
        return [(f"Alluxio {version} lacks what this site asks for.", found, "2.9.6", remedy)]
    if stores and not features.get("alluxio_argument_files", True):
        what = "The keys of an object store would be arguments of a program, where everybody reads them."
        remedy = "Use a profile with Java 11 or newer, or leave out s3."
        return [(what, "Java 8, which reads no argument files", "Java 11 or newer", remedy)]
    return []


def parts(node: Node, client: bool) -> list[str]:
    """Return the parts that a node runs: master, worker, client."""
    served = [kind for kind in ("master", "worker") if f"alluxio_{kind}" in node.roles]
    return [*served, *(["client"] if client else [])]


def dedicated(node: Node) -> bool:
    """Whether a node has nothing of weight beside the cache."""
    return not set(node.roles) - {"alluxio_master", "alluxio_worker", "alluxio_client", "client"}


def cephfs(knobs: Alluxio, site: Site) -> str:
    """Return the mount point that must be there before a server starts; "" where no under store lies on it."""
    fs = site.components.ceph.filesystem
    return fs.mount if fs and any(m.cephfs for m in knobs.mounts) else ""


def authorities(knobs: Alluxio) -> list[str]:
    """Return the files of the authorities that signed the certificates of object stores, each once."""
    return sorted({m.s3.ca_file for m in knobs.mounts if m.s3 and m.s3.ca_file})


def reach(s3: S3Store, site: Site) -> Reach:
    """Return how a bucket is reached: by the site file's own words, or as one of the site's object store."""
    if s3.endpoint:
        return Reach(s3.endpoint, "", f"vault_{s3.secret}_access_key", f"vault_{s3.secret}_secret_key")
    store = site.components.object_store
    owner = next((b.owner for b in store.buckets if b.name == s3.bucket), None) if store else None
    external = store.external if store and store.provider == "external" else None
    return Reach(endpoint(site), external.region if external else REGION, *keys_of(site, owner or ""))


def _mount(mount: CacheMount, site: Site) -> dict[str, Any]:
    """Return one under store as the module avadm_alluxio_mounts takes it; keys are templates that read the vault."""
    one: dict[str, Any] = {"path": mount.path, "read_only": mount.read_only, "options": {}}
    if mount.cephfs:
        fs = site.components.ceph.filesystem
        return one | {"store": f"{fs.mount if fs else ''}{mount.cephfs}", "folder": True}
    if mount.hdfs:
        return one | _hdfs(mount.path.strip("/"), mount.hdfs)
    if mount.s3 is None:
        return one
    folder = f"{mount.s3.folder}/" if mount.s3.folder else ""
    way = reach(mount.s3, site)
    # Stores of a site have no name in the DNS for each bucket.
    options = {"alluxio.underfs.s3.disable.dns.buckets": "true", "alluxio.underfs.s3.inherit.acl": "false"}
    if way.region:
        options["alluxio.underfs.s3.endpoint.region"] = way.region
    return one | {
        "store": f"s3://{mount.s3.bucket}/{folder}",
        "folder": False,
        "options": {
            "s3a.accessKeyId": f"{{{{ {way.access_key} }}}}",
            "s3a.secretKey": f"{{{{ {way.secret_key} }}}}",
            "alluxio.underfs.s3.endpoint": way.endpoint,
            **options,
        },
    }


def namenodes(hdfs: HdfsStore) -> list[str]:
    """Return an HDFS's namenodes as HOST:PORT."""
    return [name if ":" in name else f"{name}:{NAMENODE_PORT}" for name in hdfs.namenodes]


def _hdfs(name: str, hdfs: HdfsStore) -> dict[str, Any]:
    """Return a folder of an HDFS as the module avadm_alluxio_mounts takes it.

    One namenode is written as several are, below a name of our own: a second one is a changed option then, and no other store.
    """
    service = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "hdfs"
    those = {f"n{i}": address for i, address in enumerate(namenodes(hdfs), 1)}
    return {
        "store": f"hdfs://{service}/{hdfs.folder}",
        "folder": False,
        "read_only": True,
        "reach": list(those.values()),
        "options": {
            **PATIENCE,
            **hdfs.properties,
            "alluxio.underfs.hdfs.impl": CLIENT,
            "hadoop.security.authentication": hdfs.authentication,
            "dfs.nameservices": service,
            f"dfs.ha.namenodes.{service}": ",".join(those),
            **{f"dfs.namenode.rpc-address.{service}.{n}": address for n, address in those.items()},
            f"dfs.client.failover.proxy.provider.{service}": FAILOVER,
        },
    }


def _authorities(site_file: SiteFile, certificates: KeyStore) -> list[str]:
    """Return the certificates of the authorities of all object stores, PEM: the site's own among them where it is used."""
    knobs, site = site_file.site.components.alluxio, site_file.site
    found = [_authority(site_file, name) for name in authorities(knobs)] if knobs else []
    own = any(m.s3 and not m.s3.endpoint for m in knobs.mounts) if knobs else False
    return [*found, certificates.trusted(Authority.OBJECTS)] if own and gateways(site) else found


def _authority(site_file: SiteFile, name: str) -> str:
    path = site_file.path.parent / name
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        where = site_file.where(["components", "alluxio", "mounts"])
        raise AvadmError.of("cache-ca", where=where, found=str(error), wanted=name) from error


def _theirs(site_file: SiteFile, name: str) -> Callable[[], str]:
    """Return what is called where the vault lacks a key, which only the store's owner knows."""

    def missing() -> str:
        where = site_file.where(["components", "alluxio", "mounts"])
        vault = site_file.path.with_suffix(".vault.yml").name
        raise AvadmError.of(
            "secret-missing", where=where, found="nothing", wanted=name, name=name, vault=vault
        )

    return missing
