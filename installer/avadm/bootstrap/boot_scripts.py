"""What the step `boot` runs on a node, as root; POSIX sh."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

FILE = "/etc/default/grub.d/avadm.cfg"
"""Debian's update-grub reads each file of that folder after /etc/default/grub."""
UNITS = (
    "alluxio", "avadm-", "ceph-", "etcd", "grafana", "haproxy", "keepalived", "kube", "nfs-server", "patroni", "pgbackrest",
    "postgresql", "prometheus.", "prometheus-alertmanager", "victoria",
)  # fmt: skip
"""What names of services that serve others begin with."""

# Whether an argument is already in effect, for whatever reason.
_EFFECTIVE = """
effective() {
  case "$1" in
    systemd.unified_cgroup_hierarchy=0) [ -d "$root/sys/fs/cgroup/memory" ] ;;
    modprobe.blacklist=*) ! grep -q "^${1#*=} " "$root/proc/modules" ;;
    *) tr ' ' '\n' < "$root/proc/cmdline" | grep -qxF -- "$1" ;;
  esac
}
"""


def look(arguments: Sequence[str], root: str = "") -> str:
    """Return the script that prints the boot's id, the arguments without effect, and what serves others here.

    Lines: ``boot ID``, ``lacks ARGUMENT`` …, ``given ARGUMENT`` … (on the kernel's command line), ``serves NAME`` ….

    Args:
        arguments: kernel arguments of the node.
        root: folder in place of ``/`` (tests).
    """
    words = " ".join(shlex.quote(a) for a in arguments)
    units = "|".join(UNITS).replace(".", "[.]")
    return f"""
root={shlex.quote(root)}
{_EFFECTIVE}
echo "boot $(cat "$root/proc/sys/kernel/random/boot_id")" || exit 1
for a in {words}; do
  effective "$a" || echo "lacks $a"
  tr ' ' '\n' < "$root/proc/cmdline" | grep -xF -- "$a" | sed 's/^/given /'
done
systemctl list-units --type=service --state=active --no-legend --plain 2>/dev/null |
  awk '{{print $1}}' | grep -E '^({units})' | sed 's/^/serves /'
if command -v docker >/dev/null && [ -n "$(timeout 20 docker ps -q 2>/dev/null)" ]; then echo "serves containers of docker"; fi
if pgrep qemu-system >/dev/null 2>&1; then echo "serves virtual machines"; fi
exit 0
"""


def write(arguments: Sequence[str], root: str = "") -> str:
    """Return the script that has the boot loader give the arguments from the next boot on; it prints ``written``.

    Exit status 3 where the node does not boot by GRUB, 4 where the boot loader's configuration lacks them afterwards.
    """
    words = " ".join(arguments)
    line = shlex.quote(f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"')
    return f"""
root={shlex.quote(root)}
set -e
command -v update-grub >/dev/null && [ -d "$root/boot/grub" ] || exit 3
mkdir -p "$root/etc/default/grub.d"
new="$root{FILE}.new"
printf '%s\n' '# Written by avadm bootstrap: kernel arguments of the site'"'"'s profile.' {line} > "$new"
chmod 644 "$new"
mv -f "$new" "$root{FILE}"
update-grub >/dev/null
for a in {" ".join(shlex.quote(a) for a in arguments)}; do
  # Entries of other systems and of memory tests lack it; whether the right one was booted is seen after the reboot.
  grep -E '^[[:space:]]*linux.*vmlinuz' "$root/boot/grub/grub.cfg" | grep -qF -- " $a" || exit 4
done
sync
echo written
"""


REBOOT = "systemd-run --quiet --on-active=2 systemctl reboot && echo rebooting"
"""The answer still gets back: the reboot begins two seconds later, in no session that could end it."""
