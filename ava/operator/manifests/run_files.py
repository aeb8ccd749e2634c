"""The files that a run's pods find: hosts, accounts, and how ssh is to behave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ava.domain.model import Group, Kind, Run, User
from ava.domain.spec import Spec
from ava.operator.manifests import hostfile, pod_parts
from ava.operator.manifests.hostfile import Member, service
from ava.operator.manifests.pod import env_name, marks, variables


def config_map(run: Run, spec: Spec, members: Sequence[Member], owner: User, group: Group) -> dict[str, Any]:
    """Return the ConfigMap of an attempt, mounted at hosts.FOLDER."""
    shell = "/bin/bash" if run.kind is Kind.WORKBENCH else "/bin/sh"
    accounts = pod_parts.accounts(owner.name, owner.uid, group.name, group.gid, shell)
    data = hostfile.files(spec, members) | accounts
    return {"metadata": {"name": service(run.id, run.attempt), "labels": marks(run)}, "data": data}


def ssh_secret(run: Run, key: str, public: str, host_key: str, host_public: str) -> dict[str, Any]:
    """Return the Secret by which the pods of one attempt trust only each other.

    ``key`` and ``public`` are the user's pair, ``host_key`` and ``host_public`` that of every pod's sshd, in OpenSSH's format.
    """
    data = {
        "key": key,
        "authorized_keys": f"{public}\n",
        "host_key": host_key,
        "known_hosts": f"{pod_parts.ALIAS} {host_public}\n",
        "sshd_config": pod_parts.SSHD_CONFIG,
        "ssh_config": pod_parts.SSH_CONFIG,
    }
    name = f"{service(run.id, run.attempt)}-ssh"
    return {"metadata": {"name": name, "labels": marks(run)}, "stringData": data}


def env_secret(run: Run, spec: Spec) -> dict[str, Any] | None:
    """Return the Secret with the user's variables of an attempt, which its pods refer to; None where there are none."""
    found = variables(spec)
    if not found:
        return None
    return {"metadata": {"name": env_name(run), "labels": marks(run)}, "stringData": found}


def git_secret(run: Run, key: str, known_hosts: str) -> dict[str, Any]:
    """Return the Secret with the deploy key, which only the container that clones sees."""
    end = "" if key.endswith("\n") else "\n"
    name = f"{service(run.id, run.attempt)}-git"
    return {
        "metadata": {"name": name, "labels": marks(run)},
        "stringData": {"key": key + end, "known_hosts": known_hosts},
    }
