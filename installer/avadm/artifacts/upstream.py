"""Fetches an artifact's files as upstream publishes them; nothing is taken without a checksum."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener, urlopen

from avadm.artifacts.manifest import Artifact, Download
from avadm.artifacts.proxy import PROXIES
from avadm.artifacts.store import sha256
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding

TIMEOUT_S = 60
Opener = Callable[[str], IO[bytes]]


def open_url(url: str) -> IO[bytes]:
    """Open an address for reading; OSError where that fails."""
    stream: IO[bytes] = urlopen(url, timeout=TIMEOUT_S)  # noqa: S310 - addresses come from the manifest or the user
    return stream


def through(environment: Mapping[str, str]) -> Opener:
    """Return what opens addresses by the proxies of an environment, but for those that NO_PROXY of this process names."""
    proxies = {name.removesuffix("_proxy"): environment[name] for name in PROXIES if environment.get(name)}
    opener = build_opener(ProxyHandler(proxies))

    def opened(url: str) -> IO[bytes]:
        stream: IO[bytes] = opener.open(url, timeout=TIMEOUT_S)
        return stream

    return opened


def fetch(
    artifact: Artifact,
    checksums: Mapping[str, str],
    out: Path,
    tell: Callable[[str], None],
    opener: Opener = open_url,
) -> None:
    """Fetch all files of an artifact into a folder.

    Args:
        artifact: what is fetched.
        checksums: sha256 by address, for what the manifest has none of.
        out: folder for the files.
        tell: called with what is being done.
        opener: opens an address.

    Raises:
        AvadmError: all that is without a checksum, or the first that was not available as it should be.
    """
    missing = [n for n in artifact.files if n not in artifact.upstream]
    if missing:
        raise AvadmError([_finding(artifact, n, "Upstream publishes no such file.", BUILD) for n in missing])
    unknown = {d.url for d in artifact.upstream.values() if not (d.sha256 or checksums.get(d.url))}
    if unknown:
        what = "Its checksum is not known, so it is not fetched."
        remedy = f"Read it from its publisher and name it: --sha256 URL=CHECKSUM; or {BUILD}"
        raise AvadmError([_finding(artifact, url, what, remedy) for url in sorted(unknown)])
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        for number, url in enumerate(sorted({d.url for d in artifact.upstream.values()})):
            wanted = {n: d for n, d in artifact.upstream.items() if d.url == url}
            checksum = next((d.sha256 for d in wanted.values() if d.sha256), None) or checksums[url]
            tell(f"fetch {url}")
            _one(artifact, url, checksum, wanted, Path(scratch) / str(number), out, opener)


BUILD = "build it instead: avadm artifacts build"


def _one(
    artifact: Artifact,
    url: str,
    checksum: str,
    wanted: Mapping[str, Download],
    scratch: Path,
    out: Path,
    opener: Opener,
) -> None:
    try:
        with opener(url) as stream, scratch.open("wb") as body:
            shutil.copyfileobj(stream, body)
    except (OSError, URLError) as error:
        raise AvadmError(_finding(artifact, url, f"It cannot be fetched: {error}.", BUILD)) from error
    if (found := sha256(scratch)) != checksum.lower():
        what = "What came is not what its publisher has."
        raise AvadmError(_finding(artifact, url, what, "Find out who changed it.", found, checksum))
    for name, download in wanted.items():
        try:
            _take(scratch, download.member, out / name)
        except (KeyError, tarfile.TarError) as error:
            what = f"The archive has no {download.member}: {error}."
            raise AvadmError(_finding(artifact, url, what, BUILD)) from error
        (out / name).chmod(0o755)


def _take(archive: Path, member: str, target: Path) -> None:
    if not member:
        shutil.copy(archive, target)
        return
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(member)
        if stream is None:
            raise KeyError(member)
        with stream, target.open("wb") as body:
            shutil.copyfileobj(stream, body)


def _finding(
    artifact: Artifact, where: str, what: str, remedy: str, found: str = "", wanted: str = ""
) -> Finding:
    return finding(
        "artifact-fetch",
        where=where,
        found=found,
        wanted=wanted,
        name=artifact.name,
        what=what,
        remedy=remedy,
    )
