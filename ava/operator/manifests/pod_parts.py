"""Pieces of pods: what confines a container, the init before every command, code from git, trust between MPI's pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ava.domain.mpi import SSH
from ava.domain.spec import Git
from ava.operator.manifests import hostfile

INIT = "/.ava-init"
"""Where a node's init is in every container."""
CODE = "/workspace"
GIT = "/etc/ava/git"
GIT_CA = "git-ca.crt"
"""File of hosts.FOLDER: authorities of the site's servers of code, beside those that the image knows; empty for none."""
ALIAS = "ava-run"
"""The one name by which the pods of a run know each other's host key, whatever address they have."""
SSHD = ("/usr/sbin/sshd", "-D", "-e", "-f", f"{SSH}/sshd_config")
_CLONE = f"""\
set -eu
umask 0022
# git's settings of this clone are no one else's: the user's own in their home are neither read nor changed.
HOME=$(mktemp -d)
export HOME XDG_CONFIG_HOME="$HOME"
if [ -e {GIT}/key ]; then
  export GIT_SSH_COMMAND="ssh -F /dev/null -i {GIT}/key -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
-o UserKnownHostsFile={GIT}/known_hosts -o BatchMode=yes -o ConnectTimeout=10"
fi
git config --global --add safe.directory {CODE}
if [ -s {hostfile.FOLDER}/{GIT_CA} ]; then
  cat /etc/ssl/certs/ca-certificates.crt {hostfile.FOLDER}/{GIT_CA} > "$HOME/git-ca.crt"
  git config --global http.sslCAInfo "$HOME/git-ca.crt"
fi
cd {CODE}
git init -q .
git remote add origin "$GIT_URL" 2>/dev/null || git remote set-url origin "$GIT_URL"
git fetch -q --depth 1 origin "$GIT_COMMIT" 2>/dev/null || git fetch -q origin '+refs/*:refs/ava/*'
git checkout -q --detach "$GIT_COMMIT"
case "$(git rev-parse HEAD)" in "$GIT_COMMIT"*) ;; *) echo "HEAD is not $GIT_COMMIT" >&2; exit 1;; esac
"""
PEERS_WAIT = 600
"""Seconds that an MPI launcher waits for the sshd of its workers."""
_PEERS = f"""\
set -eu
end=$(( $(date +%s) + {PEERS_WAIT} ))
reply=
for host in $(cut -d' ' -f1 {hostfile.FOLDER}/hostfile); do
  # Until a worker runs its name does not resolve, and until its sshd listens it refuses: neither is an error yet.
  until error=$(ssh -F {SSH}/ssh_config "$host" true 2>&1 </dev/null); do
    [ "$(date +%s)" -lt "$end" ] || {{ echo "$host did not answer by ssh within {PEERS_WAIT} s: $error" >&2; exit 1; }}
    [ "$reply" = "$host" ] || echo "Waiting for $host to answer by ssh."
    reply=$host
    sleep 1
  done
done
"""
SSHD_CONFIG = f"""\
Port {hostfile.SSH_PORT}
HostKey {SSH}/host_key
AuthorizedKeysFile {SSH}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
ChallengeResponseAuthentication no
PermitRootLogin no
# The files are the platform's, mounted read-only; sshd's own check would refuse the folder's mode.
StrictModes no
UsePAM no
PidFile none
AcceptEnv OMPI_* PMIX_* HYDRA_* NCCL_* PATH LD_LIBRARY_PATH
"""
SSH_CONFIG = f"""\
Host *
  Port {hostfile.SSH_PORT}
  IdentityFile {SSH}/key
  IdentitiesOnly yes
  HostKeyAlias {ALIAS}
  UserKnownHostsFile {SSH}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 10
  LogLevel ERROR
"""


def escape(text: str) -> str:
    """Return a text that Kubernetes hands on as it is: it would replace ``$(NAME)`` and read ``$$`` as one ``$``."""
    return text.replace("$", "$$")


def literal(command: Iterable[str]) -> list[str]:
    """Return a command whose words arrive as they were written."""
    return [escape(word) for word in command]


def confined(container: dict[str, Any], user: str, *, reads: bool = False) -> dict[str, Any]:
    """Return a container without capabilities, without a way to more rights, and with its user's home.

    Its own variables HOME and USER are kept.

    Args:
        container: as the pod has it.
        user: name of the owner.
        reads: whether it only reads the home.
    """
    mine = [e["name"] for e in container.get("env", [])]
    given = {"HOME": f"/home/{user}", "USER": user}
    return container | {
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "env": [{"name": name, "value": value} for name, value in given.items() if name not in mine]
        + container.get("env", []),
        "volumeMounts": [*container.get("volumeMounts", []), *_own(user, reads)],
    }


def _own(user: str, reads: bool) -> list[dict[str, Any]]:
    """Return the mounts that make the user known in any image: a home, and the entries in passwd and group."""
    return [
        {"name": "home", "mountPath": f"/home/{user}"} | ({"readOnly": True} if reads else {}),
        {"name": "run", "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": True},
        {"name": "run", "mountPath": "/etc/group", "subPath": "group", "readOnly": True},
    ]


def accounts(user: str, uid: int, group: str, gid: int, shell: str = "/bin/sh") -> dict[str, str]:
    """Return ``passwd`` and ``group``: without an entry of the user's own, ssh, git and python's getpass do not work."""
    people = (
        "root:x:0:0:root:/root:/bin/sh",
        "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin",
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
        f"{user}:x:{uid}:{gid}::/home/{user}:{shell}",
    )
    groups = ("root:x:0:", "tty:x:5:", "nogroup:x:65534:", f"{group}:x:{gid}:{user}")
    return {"passwd": "\n".join(people) + "\n", "group": "\n".join(groups) + "\n"}


def clone(git: Git, image: str) -> dict[str, Any]:
    """Return the init container that puts the code at exactly one commit into the workspace."""
    mounts: list[dict[str, Any]] = [
        {"name": "code", "mountPath": CODE},
        {"name": "run", "mountPath": hostfile.FOLDER, "readOnly": True},
    ]
    if git.key:
        mounts.append({"name": "git", "mountPath": GIT, "readOnly": True})
    return {
        "name": "code",
        "image": image,
        "command": ["/bin/sh", "-c", escape(_CLONE)],
        "env": [
            {"name": "GIT_URL", "value": escape(git.url)},
            {"name": "GIT_COMMIT", "value": escape(git.commit)},
            {"name": "GIT_TERMINAL_PROMPT", "value": "0"},
            {"name": "GIT_ALLOW_PROTOCOL", "value": "https:ssh"},
            {"name": "GIT_CONFIG_NOSYSTEM", "value": "1"},
        ],
        "resources": _SMALL,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }


def wait_for_peers(image: str) -> dict[str, Any]:
    """Return the init container of an MPI launcher that ends when every other pod's sshd answers, or after 10 min fails."""
    return {
        "name": "peers",
        "image": image,
        "command": ["/bin/sh", "-c", escape(_PEERS)],
        "resources": _SMALL,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "ssh", "mountPath": SSH, "readOnly": True},
            {"name": "run", "mountPath": hostfile.FOLDER, "readOnly": True},
        ],
    }


_SMALL = {"requests": {"cpu": "10m", "memory": str(2**24)}, "limits": {"cpu": "1", "memory": str(2**29)}}
