"""Stand-ins for GPUs: one program that plays NVIDIA's (gpu/), put on the nodes that have GPUs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from avadm.artifacts.commands import LocalCommands
from avadm.artifacts.manifest import Artifact, ExpectedFile
from avadm.artifacts.provide import ArtifactProvider
from avadm.artifacts.store import ArtifactState, ArtifactStore
from avadm_lab.docker.client import Docker
from avadm_lab.driver import Reporter, step

ARTIFACT = Artifact(
    name="gpu-stand-ins",
    title="the lab's stand-in for GPUs",
    version="396.44",
    recipe=str(files("avadm_lab") / "gpu"),
    files={"gpu-stand-in": ExpectedFile(ask=("--version",), says="gpu-stand-in 396.44")},
)
PROGRAM = "/usr/local/lib/avadm-lab/gpu-stand-in"
NAMES = (
    "nvidia-smi",
    "nvidia-modprobe",
    "nvidia-persistenced",
    "nvidia-container-runtime",
    "dcgm-exporter",
)
"""Programs that it plays, by the name that it is called by."""
LINKS = {f"usr/bin/{name}": PROGRAM for name in NAMES}


def program(report: Reporter, store: ArtifactStore | None = None) -> Path | None:
    """Return the program on this machine, built where it is missing; None, with a note, where that fails."""
    store = store or ArtifactStore.default()
    if store.state(ARTIFACT) is not ArtifactState.PRESENT:
        with step(report, "building the stand-ins for GPUs"):
            _, findings = ArtifactProvider(store, "build", lambda name, what: None, LocalCommands()).make(
                [ARTIFACT], 1
            )
        for finding in findings:
            report.note(f"there are no stand-ins for GPUs: {finding.what} {finding.found}; {finding.remedy}")
    if store.state(ARTIFACT) is ArtifactState.ABSENT:
        return None
    return store.folder(ARTIFACT) / "gpu-stand-in"


def supply(docker: Docker, container: str, source: Path) -> bool:
    """Have the program in a node; return whether it had to be put there."""
    size = docker.run("exec", container, "stat", "-c", "%s %Y", PROGRAM).stdout.strip()
    about = source.stat()
    if size == f"{about.st_size} {int(about.st_mtime)}":
        return False
    docker.must(
        f"Putting {source.name} on {container}",
        "cp",
        "-a",
        str(source),
        f"{container}:{PROGRAM}",
        timeout=120,
    )
    return True
