"""Container images without a registry or a daemon: archives for `docker load` and skopeo, the same bytes each time.

The format is docker's own (image specification v1.2: manifest.json, a configuration, and layers as plain tar archives).
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from avadm.artifacts.tarball import header

TIME = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Image:
    """What an archive holds.

    Attributes:
        name: ``NAME:TAG`` under which an engine knows it once loaded.
        id: ``sha256:…``, as an engine tells it too.
    """

    name: str
    id: str


def write(
    target: Path,
    name: str,
    layers: Sequence[Path],
    *,
    entrypoint: Sequence[str] = (),
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Image:
    """Write an image of tar archives, the lowest layer first.

    Args:
        target: the file.
        name: ``NAME:TAG``.
        layers: tar archives of what the layers add.
        entrypoint: what every container of it runs.
        command: its arguments, or what is run where there is no entry point.
        env: environment of its containers.
    """
    digests = [_sha256(layer) for layer in layers]
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": TIME,
            "config": {
                "Env": [f"{key}={value}" for key, value in sorted((env or {}).items())],
                "Entrypoint": list(entrypoint) or None,
                "Cmd": list(command) or None,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{d}" for d in digests]},
            "history": [{"created": TIME, "created_by": "avadm artifacts build"} for _ in digests],
        },
        sort_keys=True,
    ).encode()
    image = hashlib.sha256(config).hexdigest()
    index = {"Config": f"{image}.json", "RepoTags": [name], "Layers": [f"{d}/layer.tar" for d in digests]}
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for digest, layer in dict(zip(digests, layers, strict=True)).items():
            with layer.open("rb") as body:
                tar.addfile(header(f"{digest}/layer.tar", layer.stat().st_size), body)
        for file, content in ((f"{image}.json", config), ("manifest.json", json.dumps([index]).encode())):
            tar.addfile(header(file, len(content)), io.BytesIO(content))
    return Image(name, f"sha256:{image}")


def layers(archive: Path, folder: Path) -> list[Path]:
    """Put the layers of an archive that ``write`` made into a folder; return them, the lowest first."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with tarfile.open(archive) as tar:
        stream = tar.extractfile("manifest.json")
        [index] = json.load(stream) if stream else []
        for name in index["Layers"]:
            layer = folder / name.replace("/", "-")
            body = tar.extractfile(name)
            if body is not None:
                with layer.open("wb") as out:
                    shutil.copyfileobj(body, out)
            found.append(layer)
    return found


def member(layer: Path, name: str) -> bytes | None:
    """Return the content of a plain file of a layer; None where the layer has no such."""
    with tarfile.open(layer) as tar:
        for info in tar:
            if info.isfile() and info.name.removeprefix("./").lstrip("/") == name:
                body = tar.extractfile(info)
                return body.read() if body else None
    return None


def read(archive: Path) -> Image | None:
    """Return which image an archive holds, None where it holds none."""
    try:
        with tarfile.open(archive) as tar:
            stream = tar.extractfile("manifest.json")
            [index] = json.load(stream) if stream else []
    except (tarfile.TarError, KeyError, ValueError):
        return None
    return Image(index["RepoTags"][0], f"sha256:{index['Config'].removesuffix('.json')}")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
