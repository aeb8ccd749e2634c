"""Programs of avadm_node that run on nodes for good: each a zip archive that Python runs, named by its digest."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from avadm import paths
from avadm.node_bundle import modules

PROGRAMS = {
    "balancer": ("balancer",),
    "database": ("database.main",),
    "gpu-exporter": ("gpu_exporter",),
    "log-shipper": ("logs.shipper",),
    "log-watch": ("logs.watch",),
    "pod-targets": ("pod_targets",),
    "registry": ("registry.serve", "registry.tidy"),
    "volumes": ("volumes.provisioner", "volumes.node", "volumes.driver"),
}
"""Program to the modules whose ``main`` it runs. Of several, the first word of the command line says which."""
PREFIX = "avadm-node-"
"""What stands before a program's name where phases name what they install (`Phase.artifacts`)."""
PLACE = "/usr/lib/avadm"
MAIN = """import sys
from importlib import import_module

MODULES = {modules!r}
name = sys.argv.pop(1) if len(MODULES) > 1 and len(sys.argv) > 1 else ""
if name not in MODULES:
    sys.exit("usage: %s %s ..." % (sys.argv[0], "|".join(sorted(MODULES))))
sys.exit(import_module(MODULES[name]).main())
"""


def ours(artifact: str) -> bool:
    """Return whether an artifact is a program of avadm_node, which is made from this checkout and has no recipe."""
    return artifact.startswith(PREFIX)


def variables(artifact: str, folder: Path | None = None) -> dict[str, Any]:
    """Return the variables of a program, as of an artifact, and its path on a node; it is in the cache then.

    Args:
        artifact: ``avadm-node-NAME``.
        folder: where it is kept; the cache's where None.
    """
    name = artifact.removeprefix(PREFIX)
    content = bundle(name)
    digest = hashlib.sha256(content).hexdigest()
    path = (folder or paths.cache() / "avadm_node") / f"{name}-{digest[:12]}.pyz"
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_bytes(content)
        new.replace(path)
    place = {"place": f"{PLACE}/{path.name}", "versions": f"{PLACE}/{name}-*.pyz"}
    return {"version": digest[:12], "files": {"program": {"path": str(path), "sha256": digest, **place}}}


@cache
def bundle(name: str) -> bytes:
    """Return a program's archive: the same bytes for the same sources, which are read once in a process."""
    entries = [f"avadm_node.agents.{module}" for module in PROGRAMS[name]]
    called = {e.rpartition(".")[2] if len(entries) > 1 else "": e for e in entries}
    files = {path: text for entry in entries for path, text in _files(entry).items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, text in sorted((files | {"__main__.py": MAIN.format(modules=called)}).items()):
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return out.getvalue()


def _files(entry: str) -> dict[str, str]:
    """Return the files of a module and of what it imports: path in the archive to text."""
    found = {}
    for name, path in modules(entry).items():
        inside = name.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        found[inside] = path.read_text(encoding="utf-8")
    return found
