"""The shell scripts that bootstrap runs on a node; POSIX sh, nothing else is there yet."""

from __future__ import annotations

import shlex

# What Ansible's modules import. Debian's python3-minimal lacks json, uuid and multiprocessing, so an
# interpreter that starts is no proof, and the full package is what gets installed.
PYTHON_PROBE = "import json, logging, multiprocessing, subprocess, tempfile, uuid, zipfile"

AUTHORIZE = """
umask 077
d=$HOME/.ssh; f=$d/authorized_keys
mkdir -p "$d" && chmod 700 "$d" && touch "$f" && chmod 600 "$f" || exit 1
IFS= read -r line || exit 1
blob=$(printf '%s' "$line" | cut -d ' ' -f 2)
if grep -v '^[[:space:]]*#' "$f" | grep -qF "$blob"; then echo present; exit 0; fi
if [ -s "$f" ] && [ -n "$(tail -c 1 "$f")" ]; then echo >> "$f" || exit 1; fi
printf '%s\\n' "$line" >> "$f" && echo added
"""
"""Reads the public key line from stdin; prints ``present`` or ``added``. Runs as the login user."""


def grant(user: str) -> str:
    """Return the line that lets a login become root without a password; sudo's password is read from stdin.

    The rule is checked before sudo may see it: a broken file in /etc/sudoers.d shuts everybody out.
    """
    rule = shlex.quote(f"{user} ALL=(ALL) NOPASSWD: ALL")
    # sudo skips names with a dot, so the unchecked file is never read.
    script = f"""
set -e
umask 077
new=/etc/sudoers.d/.avadm.new
trap 'rm -f "$new"' EXIT
echo {rule} > "$new"
visudo -cqf "$new" >&2
chmod 440 "$new"
mv -f "$new" /etc/sudoers.d/avadm
echo granted
"""
    return f"sudo -k -S -p '' sh -c {shlex.quote(script)}"


def python_package(interpreter: str) -> str:
    """Return the Debian or Ubuntu package of an interpreter's path: ``python3``, ``python2.7``."""
    return interpreter.rpartition("/")[2]


def prepare(interpreter: str, install: bool, proxy: str | None) -> str:
    """Return the script that finds, or installs, python; runs as root.

    It prints ``root``, then ``python VERSION`` or ``installed VERSION``; exit status 3 where python is
    missing and may not be installed, 4 where installing it failed.

    Args:
        interpreter: path of the interpreter that the profile names.
        install: whether to install it where it is missing.
        proxy: HTTP proxy for the package manager.
    """
    option = f"-o {shlex.quote(f'Acquire::http::Proxy={proxy}')}" if proxy else ""
    python = shlex.quote(interpreter)
    package = shlex.quote(python_package(interpreter))
    probe = f"{python} -c {shlex.quote(PYTHON_PROBE)}"
    version = f"{python} -c 'import sys; print(\".\".join(map(str, sys.version_info[:3])))'"
    return f"""
echo root
if {probe} 2>/dev/null; then echo "python $({version})"; exit 0; fi
[ {int(install)} = 1 ] || exit 3
export DEBIAN_FRONTEND=noninteractive
get() {{ apt-get {option} -o DPkg::Lock::Timeout=120 -qq -y "$@" >/dev/null; }}
ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || get update || exit 4
add() {{ get install --no-install-recommends {package}; }}
add 2>/dev/null || {{ get update && add; }} || exit 4
{probe} || exit 4
echo "installed $({version})"
"""
