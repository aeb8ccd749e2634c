"""What programs need of a node's C library: symbol versions read from their ELF headers, in archives and jars too."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from elftools.elf.elffile import ELFFile

from avadm.artifacts import images
from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.site import profile

_MAGIC = b"\x7fELF"
_ZIP = b"PK\x03\x04"
_VERSION = re.compile(r"GLIBC_(\d+(?:\.\d+)+)$")

Version = tuple[int, ...]


def floor() -> str:
    """Return the oldest C library of all profiles: what is made here has to run with it, since one cache serves all."""
    return min((profile.load(name).glibc for name in profile.names()), key=number)


def number(text: str) -> Version:
    """Return a version as numbers, so that 2.9 is before 2.23; "" is before all."""
    return tuple(int(part) for part in text.split(".")) if text else ()


def needs(path: Path) -> dict[str, str]:
    """Return the newest glibc that each program or library of a file needs, by its name ("" where it needs none).

    A file is a program, or an archive of programs or jars; a container image has a C library of its own and is left out.
    """
    with path.open("rb") as stream:
        return dict(_programs(path.name, stream, image=images.read(path) is not None))


def too_new(name: str, folder: Path) -> list[Finding]:
    """Return an error for each program of an artifact's folder that a node of some profile could not run."""
    oldest = floor()
    return [
        finding(
            "artifact-glibc",
            where=str(folder),
            found=f"glibc {needed}",
            wanted=f"at most glibc {oldest}",
            name=name,
            program=program,
        )
        for path in sorted(p for p in folder.iterdir() if p.is_file())
        for program, needed in needs(path).items()
        if number(needed) > number(oldest)
    ]


def _programs(name: str, stream: IO[bytes], *, image: bool = False) -> Iterator[tuple[str, str]]:
    if image:
        return
    head = stream.read(4)
    stream.seek(0)
    if head == _MAGIC:
        yield name, _needed(stream)
    elif name.endswith(".tar"):
        with tarfile.open(fileobj=stream) as tar:
            for member in tar:
                inner = tar.extractfile(member) if member.isfile() else None
                if inner is not None:
                    yield from _programs(f"{name}/{member.name}", inner)
    elif head == _ZIP:
        with zipfile.ZipFile(stream) as jar:
            for entry in jar.namelist():
                with jar.open(entry) as inner:
                    if inner.read(4) == _MAGIC:
                        yield f"{name}/{entry}", _needed(io.BytesIO(jar.read(entry)))


def _needed(stream: IO[bytes]) -> str:
    elf = ELFFile(stream)
    if elf["e_machine"] != "EM_X86_64":
        return ""
    found = {""}
    for index in range(elf.num_sections()):
        # By its header alone: other sections of files with nothing but debug symbols cannot be read.
        if elf._get_section_header(index)["sh_type"] != "SHT_GNU_verneed":
            continue
        for _library, versions in elf.get_section(index).iter_versions():
            found |= {m[1] for v in versions if (m := _VERSION.match(v.name))}
    return max(found, key=number)
