"""What modules say on a hollow node: nothing had to be changed. By module, then by what tells one use of it from another."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FACTS = {
    "ansible_distribution": "Debian",
    "ansible_distribution_release": "bookworm",
    "ansible_distribution_major_version": "12",
    "ansible_kernel": "6.1.0-1-amd64",
    "ansible_date_time": {"epoch": "0"},
}
SITE: dict[str, Any] = json.loads(Path(__file__).with_name("site.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = SITE["names"]
"""Address of each node to its name."""
TARGETS = [{"scrapePool": job} for job, count in SITE["targets"].items() for _ in range(count)]
"""What Prometheus says that it asks."""
DOCKER = {
    "Driver": "overlay2",
    "CgroupDriver": "cgroupfs",
    "LoggingDriver": "json-file",
    "LiveRestoreEnabled": True,
    "DefaultRuntime": "lab",
}
COMMANDS: dict[str, str] = {
    "docker info --format {{json .}}": json.dumps(DOCKER),
    "docker info --format {{json .Runtimes}}": '{"runc": {}, "nvidia": {}}',
    "ip -o -4 addr show": "2: eth0 inet 10.88.4.0/16 scope global eth0",
    "nvidia-smi": "\n".join(["396.0"] * 4),
    "kubectl --kubeconfig=/etc/kubernetes/kubelet.kubeconfig --request-timeout=10s get node": "True",
    "timeout 30 stat": "fuseblk",
}
"""What programs print, by how their command line begins."""
DEFAULT = {"changed": False, "rc": 0, "stdout": "", "stdout_lines": [], "stderr": "", "stderr_lines": []}
BY_MODULE: dict[str, dict[str, object]] = {
    "setup": {"ansible_facts": FACTS},
    "stat": {"stat": {"exists": True, "isdir": False, "islnk": False, "mode": "0644"}},
    "slurp": {"content": "", "encoding": "base64"},
    "uri": {"status": 200, "json": {}, "content": ""},
    "find": {"files": [], "matched": 0},
    "avadm_service": {"keeps": []},
    "avadm_ask": {
        "status": 200,
        "json": {"cluster": {"peers": [{}] * 9}, "data": {"activeTargets": TARGETS}},
    },
    "avadm_etcd_peers": {"stage": "new", "trusted": "", "running": True},
    "avadm_etcd_access": {"differing": []},
    "avadm_alluxio_sizes": {
        "sizes": {"heaps": {"master": 384, "worker": 384, "client": 192}, "tiers": [], "block_mib": 8}
    },
}


def answer(module: str, args: dict[str, object]) -> dict[str, object]:
    """Return a module's result.

    Args:
        module: its name, without a collection's.
        args: its arguments with their defaults.
    """
    special = SPECIAL.get(module)
    return {**DEFAULT, **BY_MODULE.get(module, {}), **(special(args) if special else {})}


def _command(args: dict[str, object]) -> dict[str, object]:
    words = str(args.get("_raw_params") or " ".join(map(str, args.get("argv") or [])))
    if "get node" in words and "nvidia.com/gpu" in words:
        return {"stdout": "4", "stdout_lines": ["4"]}
    if words.endswith(" --help"):
        return {"stdout": "cluster.tls-config"}
    report = next((reply for start, reply in COMMANDS.items() if words.startswith(start)), "")
    text = (
        NAMES.get(os.environ.get("SSH_CONNECTION", "").split(" ")[2:3][0], "")
        if words.startswith("hostname")
        else report
    )
    return {"stdout": text, "stdout_lines": text.splitlines()}


SPECIAL = {"command": _command}
