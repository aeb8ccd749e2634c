"""The lab's site file: an ordinary one, so that nothing after `lab up` knows of the lab."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from avadm.errors import AvadmError
from avadm.findings import Finding, errors
from avadm.site.load import examine
from avadm.site.model import Site
from avadm_lab.docker import emulation
from avadm_lab.layout import PLAIN, Config, LabNode
from avadm_lab.layout import nodes as layout

GIT_PORT = 2022
"""Of this machine: where a test's server of code listens."""
_HEAD = """# Written by `avadm lab up`. You may edit it: the lab leaves an edited file alone.
# The nodes' root password is in the file `password` beside it: avadm bootstrap --password-file.
"""

CACHED = "lab-cache"
"""User of the object store, and their bucket, that the cache mounts where the lab has both."""
LOCAL_GIB = 2
"""What local volumes of a compute node may take of this machine's disk."""

_BETTER = (
    {"compute": 2},
    {"compute": 3},
    {"storage": 3},
    {"compute": 3, "storage": 3},
    {"compute": 3, "storage": 3, "masters": 1},
)
"""Changes of a lab's numbers that are tried, the least first, where those given cannot give a valid site."""


def _node(config: Config, node: LabNode, host_key: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": node.name,
        "address": str(node.address),
        "rack": node.rack,
        "roles": list(node.roles),
    }
    if host_key:
        entry["host_key"] = host_key
    if node.gpus:
        entry["gpus"] = {"count": node.gpus, "model": "fake-gpu"}
    if {"client", "worker"} <= set(node.roles):
        entry["local_volumes_gib"] = LOCAL_GIB
    if node.disks:
        entry["devices"] = [{"by_id": disk.by_id} for disk in node.disks]
    return entry


def _ceph(config: Config) -> dict[str, Any]:
    if not config.storage:
        return {"filesystem": None, "rbd_pools": []}
    return {
        # The least that ceph accepts for an OSD; six of them share this machine's memory.
        "osd_memory_mib": 896,
        "mds_cache_mib": 512,
        # The monitors' disk is this machine's, which others fill too; by default ceph warns at 30 % and is in error at 5 %.
        "config": {"mon": {"mon_data_avail_warn": 2, "mon_data_avail_crit": 1}},
    }


def _objects(config: Config) -> dict[str, Any]:
    data: dict[str, Any] = {
        "vip": str(config.objects_vip),
        "users": [{"name": "lab-ai", "quota_mib": 2048, "quota_objects": 100_000}, {"name": "lab-guest"}],
        "buckets": [
            {"name": "lab-data", "owner": "lab-ai"},
            {"name": "lab-versions", "owner": "lab-ai", "versioning": True},
        ],
    }
    if config.cached:
        data["users"].append({"name": CACHED})
        data["buckets"].append({"name": CACHED, "owner": CACHED})
    return data


def _cache(config: Config) -> dict[str, Any]:
    """Return the cache's knobs: all nodes share this machine's memory."""
    mounts: list[dict[str, Any]] = [{"path": "/cephfs", "cephfs": "/cache"}]
    if "objects" in config.parts:
        mounts.append({"path": "/s3", "s3": {"bucket": CACHED}})
    return {
        "master_heap_mib": 384,
        "worker_heap_mib": 384,
        "client_heap_mib": 192,
        "tiers": [{"kind": "MEM", "path": "/var/lib/alluxio/mem", "quota_mib": 128}],
        "block_mib": 8,
        # Short, so that a change in the under store is seen within a test.
        "sync_interval_s": 5,
        "mounts": mounts,
    }


def _logs(nodes: list[LabNode]) -> dict[str, Any]:
    """Return where logs are kept: on the first two nodes of monitoring, with little of this machine's disk."""
    stores = [n.name for n in nodes if "prometheus" in n.roles]
    return {"stores": stores, "retention_days": 2, "disk_gib": 1, "buffer_mib": 64, "learning_hours": 24}


def _code(config: Config, host_key: str) -> dict[str, Any]:
    """Return a server of code: this machine, on which a test may run sshd with the first node's host key."""
    known = {"host_keys": f"[{config.gateway}]:{GIT_PORT} {host_key}"} if host_key else {}
    return {"networks": [f"{config.gateway}/32"], "ports": [GIT_PORT], **known}


def _network(config: Config) -> dict[str, Any]:
    network: dict[str, Any] = {"management": str(config.subnet), "domain": config.domain}
    if config.masters:
        first, last = config.service_addresses
        network |= {"api_vip": str(config.api_vip), "ingress_vip": str(config.ingress_vip)}
        network["load_balancer"] = {"first": str(first), "last": str(last)}
    return network


def check(config: Config, nodes: list[LabNode]) -> None:
    """Refuse numbers that cannot give a valid site, before anything is made.

    Raises:
        AvadmError: with what `avadm site check` would find wrong, and which numbers would do.
    """
    found = _refused(config, nodes)
    if not found:
        return
    better = (config.model_copy(update=change) for change in _BETTER)
    would = next((b for b in better if not _refused(b, layout(b))), None)
    numbers = ("storage", "compute", "masters")
    given = " ".join(f"--{n} {getattr(config, n)}" for n in numbers)
    what = "Leave the options out."
    if would:
        options = " ".join(
            f"--{n} {getattr(would, n)}" for n in numbers if getattr(would, n) != getattr(config, n)
        )
        what = f"Give {options}."
    raise AvadmError([replace(f, where=f"lab up {given}: {f.where}", remedy=what) for f in found])


def _refused(config: Config, nodes: list[LabNode]) -> list[Finding]:
    """Return what `avadm site check` would find wrong with the site file of such a lab."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "site.yml"
        file.write_text(text(config, nodes, {}, "http://127.0.0.1:3142"))
        return [replace(f, where="site.yml") for f in errors(examine(file)[1])]


def text(config: Config, nodes: list[LabNode], host_keys: Mapping[str, str], proxy: str) -> str:
    """Return the site file of a lab; the model has accepted it."""
    data: dict[str, Any] = {
        "version": 1,
        "name": config.name,
        "profile": f"lab-{config.release}",
        "network": _network(config),
        "ssh": {"user": "root", "key": "id_ed25519", "known_hosts": "known_hosts"},
        "packages": {"proxy": proxy},
        "nodes": [_node(config, n, host_keys.get(n.name, "")) for n in nodes],
        "components": {
            "ceph": _ceph(config),
            "monitoring": {"retention_days": 2},
        },
        # The nodes share this machine's clock and kernel and may not set them.
        "extra_vars": {
            "chrony_adjust_clock": False,
            "base_own_kernel": False,
            # The registry's disk is this machine's too: by default users push nothing where less than 15 % is free.
            **({"registry_room_percent": 2} | emulation.VARIABLES if config.masters else {}),
        },
    }
    if "objects" in config.parts and config.storage:
        data["components"]["object_store"] = _objects(config)
    if config.masters:
        # The nodes share this machine's memory and disk: what is kept back is for the disk's owner, not for pods.
        data["components"]["kubernetes"] = {
            "system_reserved": {"cpu_millicores": 50, "memory_mib": 64},
            "kube_reserved": {"cpu_millicores": 50, "memory_mib": 64},
            "eviction": {"memory_mib": 100, "disk_percent": 1, "inodes_percent": 1},
            "accounts": [
                {"name": "lab-viewer", "role": "viewer"},
                {"name": "lab-operator", "role": "operator"},
                {"name": "lab-tenant", "role": "tenant", "namespaces": ["lab-tenant"]},
                {"name": "lab-neighbour", "role": "tenant", "namespaces": ["lab-neighbour"]},
            ],
        }
    if config.cached:
        data["components"]["alluxio"] = _cache(config)
    if "logs" in config.parts:
        data["components"]["logs"] = _logs(nodes)
    if config.stored:
        data["components"]["database"] = {"vip": str(config.database_vip)}
    if config.platform:
        data["components"]["ava"] = {"git": [_code(config, host_keys.get(nodes[0].name, ""))]}
    data["components"] |= {part: {} for part in PLAIN if part in config.parts}
    Site.model_validate(data)
    out = io.StringIO()
    yaml = YAML()
    yaml.width = 200
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(data, out)
    return _HEAD + out.getvalue()
