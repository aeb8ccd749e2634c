"""The node image: a plain Debian server made by mmdebstrap, built once for each release and recipe.

It holds what a site's machines have from their own installer, and nothing that only a role needs.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from importlib.resources import files
from pathlib import Path

from avadm_lab.docker.client import LABEL, Docker
from avadm_lab.driver import Reporter, step
from avadm_lab.process import Proc, run_checked

ICU = {"bookworm": "libicu72", "bullseye": "libicu67"}
"""Each release that nodes may run, and what it calls ICU: the one package whose name tells the release."""
# With a mirror named, mmdebstrap takes the main suite of it alone. The index of bullseye-security names ceph packages
# whose files are gone (404), which apt would choose before those of the main suite.
_MIRRORS = {"bullseye": "http://deb.debian.org/debian"}
# What the installer of an Ubuntu 16.04 server puts on each machine (its tasks standard and server, where a role's
# packages need it): a site's machines have these before the first role runs.
PACKAGES = (
    "systemd,systemd-sysv,dbus,udev,kmod,openssh-server,openssl,python3,python3-apt,perl,sudo,procps,file,xz-utils,"
    "iproute2,iputils-ping,netbase,ca-certificates,curl,gnupg,logrotate,cron,fuse3,lvm2,"
    "tzdata,lsb-release,e2fsprogs,xfsprogs,parted,gdisk,hdparm,dmidecode,uuid-runtime,psmisc,cryptsetup-bin,"
    "libcurl3-gnutls,libglib2.0-0,{icu},libxml2,"
    "python3-requests,python3-yaml,python3-six,python3-pkg-resources,python3-distutils,python3-prettytable"
)
# Manual pages are left out, the folder is not: update-alternatives of Java links into it.
_HOOK = """set -e
mkdir -p "$1/usr/share/man/man1"
rm -f "$1"/etc/ssh/ssh_host_*
: > "$1/etc/machine-id"
chroot "$1" systemctl -q enable avadm-lab-etc.service
chroot "$1" systemctl -q disable apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer
chroot "$1" systemctl -q mask getty@tty1.service console-getty.service nvmf-autoconnect.service
rm -f "$1/etc/resolv.conf"
"""


def overlay() -> bytes:
    """Return the files that the image adds to Debian's, as a tar archive (the same bytes each time)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, (path, mode) in sorted(_FILES.items()):
            body = (files("avadm_lab.docker") / "files" / name).read_bytes()
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(body), mode
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


_FILES = {
    "sshd.conf": ("etc/ssh/sshd_config.d/10-avadm-lab.conf", 0o644),
    "dpkg.cfg": ("etc/dpkg/dpkg.cfg.d/avadm-lab", 0o644),
    "own-etc.sh": ("usr/local/lib/avadm-lab/own-etc", 0o755),
    "avadm-lab-etc.service": ("etc/systemd/system/avadm-lab-etc.service", 0o644),
}


def command(release: str, tar: Path, extra: Path) -> list[str]:
    """Return the command that builds a release's image from the overlay archive ``extra``."""
    mirror = os.environ.get("AVADM_LAB_MIRROR") or _MIRRORS.get(release)
    packages = PACKAGES.format(icu=ICU[release])
    return [
        "mmdebstrap", "--variant=apt", f"--include={packages}", "--aptopt=Acquire::Languages \"none\"",
        "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
        f"--customize-hook=tar-in {extra} /", f"--customize-hook={_HOOK}",
        release, str(tar), *([mirror] if mirror else []),
    ]  # fmt: skip


def digest(release: str) -> str:
    """Return 12 hex digits that change with a release's recipe."""
    recipe = "\0".join(command(release, Path("tar"), Path("extra")))
    return hashlib.sha256(recipe.encode() + overlay()).hexdigest()[:12]


def tag(release: str) -> str:
    """Return the name of a release's image for the present recipe."""
    return f"avadm-node:{digest(release)}"


def ensure(docker: Docker, proc: Proc, store: Path, proxy: str | None, report: Reporter, release: str) -> str:
    """Have a release's image in the engine, built or imported where missing; return its name.

    Args:
        docker: the engine.
        proc: runs mmdebstrap.
        store: folder where the image's tar is kept.
        proxy: HTTP proxy for the build's downloads (not kept in the image).
        report: called with what takes time.
        release: code name of the Debian release, one of ``ICU``.

    Raises:
        AvadmError: the build failed.
    """
    name = tag(release)
    if docker.run("image", "inspect", "--format", "{{.Id}}", name).ok:
        return name
    tar = store / f"node-{digest(release)}.tar"
    if not tar.exists():
        with step(report, f"building the node image (Debian {release})"):
            _build(proc, tar, proxy, release)
    with step(report, "importing the node image"):
        changes = ["--change", 'CMD ["/sbin/init"]', "--change", "LABEL avadm.image=node"]
        docker.must("Importing the node image", "import", *changes, str(tar), name, timeout=300)
    return name


def remove(docker: Docker, lab: str) -> int:
    """Remove the images that a lab made, and the node image if no other lab uses it; its tar stays cached."""
    kept = docker.must("Listing images", "image", "ls", "-q", "--filter", f"label={LABEL}={lab}").split()
    node = docker.must("Listing images", "image", "ls", "-q", "--filter", "label=avadm.image=node").split()
    return sum(docker.run("image", "rm", i, timeout=120).ok for i in dict.fromkeys([*kept, *node]))


def _build(proc: Proc, tar: Path, proxy: str | None, release: str) -> None:
    tar.parent.mkdir(parents=True, exist_ok=True)
    present = {f"node-{digest(known)}.tar" for known in ICU}
    for old in tar.parent.glob("node-*"):
        if old.name not in present:
            old.unlink()
    extra, fresh = tar.with_suffix(".overlay"), tar.with_name(f"node-{os.getpid()}.part.tar")
    extra.write_bytes(overlay())
    try:
        done = proc.run(
            command(release, fresh, extra),
            timeout=900,
            env={"http_proxy": proxy} if proxy else None,
        )
        run_checked(
            done,
            "Building the node image",
            "Check that this machine reaches deb.debian.org (or set AVADM_LAB_MIRROR).",
        )
        fresh.replace(tar)
    finally:
        fresh.unlink(missing_ok=True)
        extra.unlink(missing_ok=True)
