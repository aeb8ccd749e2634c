"""What Go and zig are run with, so that a recipe gives the same program everywhere."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from avadm import paths
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding

# No go.work and no flags of the user's own; what a go.sum does not name is refused.
# GOGC: the compiler takes more memory and a quarter less CPU time (docs/how-to/build-artifacts.md); the result is the same.
ENV = {
    "GO111MODULE": "on",
    "GOWORK": "off",
    "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",
    "GOGC": "400",
}

GO = paths.cache() / "tools" / "go"
"""Where scripts/go has a Continue machines without one."""


def environment(toolchain: str) -> dict[str, str]:
    """Return the environment for the Go release of a recipe; without C, see ``linking``."""
    return {**ENV, "GOTOOLCHAIN": toolchain, "PATH": _path(), **linking("")}


def linking(glibc: str) -> dict[str, str]:
    """Return the environment in which Go makes programs that need at most this glibc; "" is none: static, without C.

    zig has the symbols of each glibc, so what the controller itself has plays no part, and neither does its compiler.
    """
    if not glibc:
        return {"CGO_ENABLED": "0"}
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise AvadmError(no_program("zig", ""))
    return {
        "CGO_ENABLED": "1",
        # By name, for the path would be part of what Go makes.
        "CC": f"zig cc -target x86_64-linux-gnu.{glibc}",
        "PATH": f"{Path(found.origin).parent}:{_path()}",
        "ZIG_GLOBAL_CACHE_DIR": str(GO.parent / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(GO.parent / "zig"),
    }


def no_program(name: str, found: str) -> Finding:
    """Return the error for a program that a build needs and that is not there (or another one than is wanted)."""
    if name == "go":
        wanted = "go 1.21 or newer"
        remedy = "Install one: scripts/go does."
    elif name == "mvn":
        wanted, remedy = "maven 3", "Install it: apt-get install maven."
    elif name == "zig":
        wanted, remedy = "the Python package ziglang", "Install it beside avadm: pip install 'avadm[build]'."
    else:
        wanted, remedy = name, f"Install it: apt-get install {name}."
    return finding("artifact-tool", where="PATH", found=found, wanted=wanted, name=name, remedy=remedy)


def _path() -> str:
    return f"{GO / 'bin'}:{os.environ.get('PATH', '')}"
