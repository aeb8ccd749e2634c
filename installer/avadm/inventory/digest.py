"""Digests of what a phase's work on a host depends on: variables, playbook, role and plug-in files, secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.inventory.model import STATE_KEY, Variables

# How a node is reached is no input of what is installed on it.
_CONNECTION = ("ansible_",)
_MODULE = re.compile(rb"\bavadm_\w+")
_PROBES = re.compile(rb"\bansible\.module_utils\.avadm_node\.probes\.(\w+)")
_SECRET = re.compile(r"\bvault_\w+")
_EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
LOCKED = "locked"
"""In place of the secrets' part of a digest, where the vault cannot be opened now: without its password people may look still."""
SEPARATORS = 2
"""Which part of a digest covers the peer inputs, where there is such a part."""
_TEMPLATE = re.compile(rb"/\.\./(templates/[\w/-]+\.j2)\b")


def same(recorded: str, now: str) -> bool:
    """Whether a recorded digest is that of now; where the vault cannot be opened, whether all but the secrets is."""
    return _without_locked(recorded, now) == _without_locked(now, now)


def only_peers_changed(recorded: str, now: str) -> bool:
    """Whether a recorded digest differs from the current one only in its peer inputs (`Phase.peer_inputs`)."""
    (*before, old), (*after, new) = _without_locked(recorded, now), _without_locked(now, now)
    return now.count(".") == SEPARATORS and before == after and old != new


def _without_locked(digest: str, now: str) -> list[str]:
    """Return the parts of a digest: inputs, secrets, what is reported; without the secrets where now they are locked."""
    locked = now.split(".")[1:2] == [LOCKED]
    return [part for i, part in enumerate(digest.split(".")) if not (locked and i == 1)]


class Digests:
    """Digests of a site's phases and hosts; files are read once.

    Args:
        variables: the rendered variables.
        home: folder with playbooks/, roles/ and plugins/.
        roles: of each host, those that the site file gives it.
        secrets: the vault's secrets by name; None where it cannot be opened. A digest depends on those that its variables
            and roles' defaults name, by a keyed hash, which tells nothing of them to anyone who has not the vault.
    """

    def __init__(
        self,
        variables: Variables,
        home: Path,
        roles: Mapping[str, Collection[str]],
        secrets: Mapping[str, str] | None,
    ) -> None:
        self.variables = variables
        self._roles = roles
        self._home = home
        self._given = secrets
        self._code: dict[str, str] = {}
        self._named: dict[str, set[str]] = {}
        self._others: dict[str, set[str]] = {}
        # What all hosts share is made text once and not for each host: 256 hosts have the same two hundred variables.
        self._shared: dict[str, dict[str, str]] = {}
        self._artifacts: dict[tuple[str, int], str] = {}

    def host(self, phase: Phase, host: str) -> str:
        """Return the digest of everything that this phase's work on this host depends on."""
        own = self.variables.hosts.get(host, {})
        if phase.name not in self._shared:
            defaults = self._defaults(phase)
            wanted = self._others[phase.name] = _of_others(defaults, phase)
            every = self.variables.all
            used = {
                k: v for k, v in every.items() if k != "artifacts" and (k in wanted or _concerns(k, phase))
            }
            self._shared[phase.name] = {k: self._with_named(_text(v), phase) for k, v in used.items()}
            self._named[phase.name] = _names([defaults, *self._shared[phase.name].values()])
        wanted = self._others[phase.name]
        mine = {
            k: _text(v) for k, v in own.items() if k != "artifacts" and (k in wanted or _concerns(k, phase))
        }
        others = [k for k, role in phase.of_some.items() if role not in self._roles.get(host, ())]
        texts = {k: v for k, v in self._shared[phase.name].items() if k not in others} | mine
        report = _text({name: texts.pop(name, "") for name in phase.peer_inputs}) if phase.peer_inputs else ""
        if artifacts := self._checksums(own.get("artifacts", self.variables.all.get("artifacts", {})), phase):
            texts["artifacts"] = artifacts
        whole = ", ".join(f"{_text(k)}: {texts[k]}" for k in sorted(texts))
        named = self._named[phase.name] | _names(mine.values())
        inputs = f"{_hash(f'{{{whole}}}', self._phase(phase))}.{self._of_secrets(named)}"
        return f"{inputs}.{_hash(report)}" if report else inputs

    def _with_named(self, text: str, phase: Phase) -> str:
        """Return the text of a value, with the other roles' variables that it names: names of nodes are those of `base_hosts`."""
        every = self.variables.all
        named = {n for n in _of_others(text, phase) if n in every}
        return text + "".join(_text(every[name]) for name in sorted(named))

    def _of_secrets(self, names: Collection[str]) -> str:
        held = self._secrets if names else {}
        return LOCKED if held is None else _hash(_text({name: held.get(name) for name in names}))

    @cached_property
    def _secrets(self) -> dict[str, str] | None:
        """Secrets by name, each as a keyed hash; None where the vault cannot be opened.

        Without the key, which each vault has, nothing is revealed of them.
        """
        if (held := self._given) is None:
            return None
        key = held.get(STATE_KEY, "").encode()
        return {
            n: hmac.new(key, f"{n}\0{v}".encode(), hashlib.sha256).hexdigest() for n, v in held.items() if key
        }

    def _defaults(self, phase: Phase) -> str:
        """Return the defaults of a phase's roles, and of those that they import."""
        roles = (*phase.roles, *phase.borrows)
        files = [f for r in roles for f in _files(self._home / "roles" / r / "defaults")]
        return "\n".join(f.read_text(encoding="utf-8") for f in files)

    def _checksums(self, artifacts: dict[str, Any], phase: Phase) -> str:
        """Return the checksums of what a phase installs as text; "" for none."""
        key = (phase.name, id(artifacts))  # kept by the variables as long as this
        if key not in self._artifacts:
            found = _checksums(artifacts, phase)
            self._artifacts[key] = _text(found) if found else ""
        return self._artifacts[key]

    def _phase(self, phase: Phase) -> str:
        if phase.name not in self._code:
            roles = [self._home / "roles" / r for r in (*phase.roles, *phase.borrows)]
            files = [f for root in (self._home / phase.playbook, *roles) for f in _files(root)]
            self._code[phase.name] = _of_files(
                [*files, *self._plugins(files), *self._templates(files)], self._home
            )
        return self._code[phase.name]

    def _templates(self, files: Iterable[Path]) -> list[Path]:
        """Return the templates of several roles that are named in files."""
        names = {name.decode() for f in files for name in _TEMPLATE.findall(f.read_bytes())}
        return [path for name in sorted(names) if (path := self._home / name).is_file()]

    def _plugins(self, files: Iterable[Path]) -> list[Path]:
        """Return the files of our modules and action plug-ins that are named in files, and what all modules share."""
        folder, found = self._home / "plugins", set[Path]()
        while files:
            names = {name.decode() for f in files for name in _MODULE.findall(f.read_bytes())}
            named = {folder / kind / f"{name}.py" for kind in ("action", "modules") for name in names}
            # A plug-in may name another.
            files = {m for m in named - found if m.is_file()}
            found |= files
        found |= set(_files(folder / "module_utils"))
        # A folder of probes is one whole, and none of those that modules use imports another.
        shared = {name.decode() for f in found for name in _PROBES.findall(f.read_bytes())}
        return [
            *sorted(found),
            *(f for name in sorted(shared) for f in _files(self._home / "avadm_node/probes" / name)),
        ]


def _of_others(text: str, phase: Phase) -> set[str]:
    """Return the variables of other phases' roles that expressions of a text name."""
    words = {w for e in _EXPRESSION.findall(text) for w in re.findall(r"\w+", e)}
    return {w for w in words if _owner(w) is not None and not _concerns(w, phase)}


def _names(texts: Iterable[str]) -> set[str]:
    """Return the secrets that texts name."""
    return {name for text in texts for name in _SECRET.findall(text)}


def _checksums(artifacts: dict[str, Any], phase: Phase) -> dict[str, dict[str, str]]:
    """Return the checksums of what a phase installs; where the controller keeps it is no input."""
    installs = (n for n in (*phase.artifacts, *phase.optional) if n in artifacts)
    return {n: {f: kept["sha256"] for f, kept in artifacts[n]["files"].items()} for n in installs}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _concerns(variable: str, phase: Phase) -> bool:
    """Return whether a phase depends on a variable: one of its own roles', or of no role at all."""
    if variable.startswith(_CONNECTION):
        return False
    owner = _owner(variable)
    return owner is None or owner in phase.roles


@cache
def _owner(variable: str) -> str | None:
    """Return the role whose variable it is; None for none."""
    owners = [r for p in PHASES for r in p.roles if variable == r or variable.startswith(f"{r}_")]
    # ceph_osd_x belongs to ceph_osd even if a role `ceph` existed: the longest name owns it.
    return max(owners, key=len, default=None)


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    return sorted(p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _of_files(files: Iterable[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
