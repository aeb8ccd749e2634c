"""The files that make a pod a workbench: an sshd that takes its user's keys, Jupyter for the gate, and what starts both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from ava.domain import labels
from ava.domain.model import Run
from ava.domain.workbench import JUPYTER_PORT, SSH_PORT, service
from ava.operator.manifests.hostfile import service as attempt

FOLDER = "/etc/ava/bench"
KEYS = f"{labels.PREFIX}/keys"
"""Annotation of the pod and its Secret: digest of the authorized keys. A pod whose annotation changes is looked at by its
kubelet at once, which then brings the Secret's files up to date too; else that takes a minute."""
SSHD_CONFIG = f"""\
Port {SSH_PORT}
HostKey {FOLDER}/host_key
AuthorizedKeysFile {FOLDER}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
# The files are the platform's, mounted read-only; sshd's own check would refuse the folder's mode.
StrictModes no
UsePAM no
PidFile none
PrintMotd no
LoginGraceTime 30
MaxAuthTries 20
# A client that is gone without a word is noticed after three minutes.
ClientAliveInterval 30
ClientAliveCountMax 6
AllowTcpForwarding yes
AllowAgentForwarding yes
AllowStreamLocalForwarding yes
GatewayPorts no
X11Forwarding no
PermitTunnel no
AcceptEnv LANG LC_* COLORTERM
Subsystem sftp internal-sftp
"""
START = f"""\
# Starts what makes a pod a workbench; the arguments are the user's own command, which then runs instead of Jupyter.
# A stop ends it at once, also where it comes just before something is started that would not hear of it.
trap 'exit 0' TERM INT
[ -x /bin/bash ] && export SHELL=/bin/bash
cd "$HOME" || exit 1
if [ -x /usr/sbin/sshd ]; then
  # Logins have the container's variables, as terminals of Jupyter have. sshd takes one line alone.
  config=$(umask 077 && mktemp) || exit 1
  cat {FOLDER}/sshd_config > "$config" && awk 'BEGIN {{
    for (name in ENVIRON) {{
      value = ENVIRON[name]
      if (name !~ /^[A-Za-z_][A-Za-z0-9_]*$/ || value ~ /[\\n\\r]/) continue
      if (name ~ /^(HOME|USER|LOGNAME|PWD|OLDPWD|SHLVL|TERM|MAIL|_|SSH_.*)$/) continue
      gsub(/[\\\\"]/, "\\\\\\\\&", value)
      env = env " \\"" name "=" value "\\""
    }}
    # bash reads ~/.bashrc before a command that ssh gives it, unless it is inside another shell: what that prints would
    # end scp -O, rsync and git.
    print "SetEnv SHLVL=1" env
  }}' >> "$config"
  while :; do /usr/sbin/sshd -D -e -f "$config"; sleep 2; done &
else
  echo "This image has no /usr/sbin/sshd: no ssh access." >&2
fi
if [ $# -gt 0 ]; then
  trap - TERM INT
  exec "$@"
fi
if command -v jupyter > /dev/null; then
  # One whose memory the kernel took comes again; its kernels' files are on the disk.
  while :; do
    jupyter lab --config={FOLDER}/jupyter_server_config.json
    sleep 2
  done
else
  echo "This image has no jupyter: it is reached by ssh alone." >&2
  while :; do sleep 3600 & wait $!; done
fi
"""


def jupyter(token: str, home: str) -> str:
    """Return Jupyter's settings: the token for who asks; the gate lets in the owner alone, and knows it."""
    return json.dumps(
        {
            "ServerApp": {
                "ip": "0.0.0.0",  # noqa: S104 - only the gate reaches the pod's port
                "port": JUPYTER_PORT,
                "port_retries": 0,
                "open_browser": False,
                "allow_remote_access": True,
                "trust_xheaders": True,
                "quit_button": False,
                "root_dir": home,
                # An image that was put together from wheels may lack the files that switch them on.
                "jpserver_extensions": {"jupyter_server_terminals": True, "jupyter_lsp": True},
            },
            "IdentityProvider": {"token": token},
            "LabApp": {"news_url": None, "check_for_updates_class": "jupyterlab.NeverCheckForUpdate"},
        }
    )


def authorized(keys: Iterable[str]) -> str:
    """Return authorized_keys of a user's public keys (one line each, as the database keeps them)."""
    return "".join(f"{line}\n" for line in sorted(set(keys)))


def digest(authorized_keys: str) -> str:
    """Return what KEYS says of them."""
    return hashlib.sha256(authorized_keys.encode()).hexdigest()[:16]


def name(run: Run) -> str:
    """Return the name of an attempt's Secret."""
    return f"{attempt(run.id, run.attempt)}-bench"


def secret(
    run: Run, marked: Mapping[str, str], *, home: str, host_key: str, token: str, authorized_keys: str
) -> dict[str, Any]:
    """Return the Secret of a workbench's attempt; the pod's user alone reads it there."""
    data = {
        "start": START,
        "sshd_config": SSHD_CONFIG,
        "host_key": host_key,
        "authorized_keys": authorized_keys,
        "jupyter_server_config.json": jupyter(token, home),
    }
    notes = {KEYS: digest(authorized_keys)}
    return {
        "metadata": {"name": name(run), "labels": dict(marked), "annotations": notes},
        "stringData": data,
    }


def ssh_service(run: Run, marked: Mapping[str, str]) -> dict[str, Any]:
    """Return the Service by whose name the ssh gateway finds the workbench; it goes with the run, not with an attempt."""
    lasting = {key: value for key, value in marked.items() if key != labels.ATTEMPT}
    return {
        "metadata": {"name": service(run.definition), "labels": lasting},
        "spec": {
            "selector": {labels.RUN: run.id},
            "ports": [{"name": "ssh", "port": 22, "targetPort": SSH_PORT}],
        },
    }
