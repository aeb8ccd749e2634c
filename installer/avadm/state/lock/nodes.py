"""The nodes that keep a site's lock and the copies of its state, and how they are asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.remote.access import findings
from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm.state.site_state import SiteState
from avadm_node.probes import lock

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

FOLDER = "/var/lib/avadm"
TIMEOUT = 30.0  # seconds
WITHOUT_MONS = 3


@dataclass
class LockReplies:
    """What the lock's nodes reported.

    Attributes:
        answers: node to ``done``, ``holder`` and ``serial`` (of the state that is kept there).
        silent: node to why it reported nothing.
    """

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)

    @property
    def holders(self) -> dict[str, dict[str, Any]]:
        """Token to holder, of the locks that stand."""
        found = [a["holder"] for a in self.answers.values() if a.get("holder")]
        return {str(h.get("token", "")): h for h in found}

    def add(self, more: LockReplies) -> None:
        """Add later replies, which replace earlier ones."""
        self.answers.update(more.answers)
        self.silent.update(more.silent)


class LockNodes:
    """The nodes that keep a site's lock: its monitors, or its first nodes where it has none.

    A lock needs a majority of these, and of those of the last run that wrote the state, as the controller and the
    copies on the nodes tell: the majorities of two versions of a site file can be other nodes altogether.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.

    Attributes:
        own: those of this site file.
        groups: of each a majority is needed; a node that the site file no longer names can never answer.
    """

    def __init__(self, site_file: SiteFile, fleet: Fleet) -> None:
        site = site_file.site
        self.site = site.name
        self.own = [n.name for n in site.with_role("mon") or site.nodes[:WITHOUT_MONS]]
        self.groups: list[tuple[str, ...]] = [tuple(self.own)]
        self._known = {n.name for n in site.nodes}
        self.folder = f"{FOLDER}/{site.name}"
        self.fleet = fleet
        self._python = site_file.profile.python
        self._join(SiteState.of(site_file.path, site.name, tolerant=True).keepers)

    @property
    def names(self) -> list[str]:
        """The nodes that are asked."""
        every = dict.fromkeys(name for group in self.groups for name in group)
        return [name for name in every if name in self._known]

    @property
    def unknown(self) -> list[str]:
        """The nodes that kept the lock once and are not in this site file."""
        return sorted({name for group in self.groups for name in group if name not in self._known})

    def learn(self, seen: LockReplies) -> list[str]:
        """Add the nodes that copies of the state tell of; return those that were not asked yet."""
        for answer in seen.answers.values():
            self._join(answer.get("keepers"))
        return [name for name in self.names if name not in seen.answers and name not in seen.silent]

    def leave(self, name: str) -> None:
        """Do without a node that leaves the site while its lock is held; no majority may need it any more."""
        self._known.discard(name)
        self.own = [n for n in self.own if n != name]
        self.forget()

    def forget(self) -> None:
        """Do without the nodes that are not in this site file."""
        self.groups = [kept for g in self.groups if (kept := tuple(n for n in g if n in self._known))]

    def short_of(self, got: Collection[str]) -> list[tuple[str, ...]]:
        """Return the groups of which these nodes are no majority."""
        return [g for g in self.groups if sum(n in got for n in g) < majority(g)]

    def _join(self, keepers: Any) -> None:
        # In one order: two lists of the same nodes are one group. What a node tells can only ask for more nodes.
        group = tuple(sorted({str(name) for name in keepers})) if isinstance(keepers, list | tuple) else ()
        if group and set(group) not in [set(known) for known in self.groups]:
            self.groups.append(group)

    def do(
        self,
        verb: str,
        owner: Mapping[str, Any] | None = None,
        token: str = "",
        nodes: Collection[str] | None = None,
    ) -> LockReplies:
        """Do one verb of avadm_node's lock on all nodes at once, each in one round trip."""
        params = {"folder": self.folder, "verb": verb, "owner": owner, "token": token}
        given = dict.fromkeys(self.names if nodes is None else nodes, params)
        seen = LockReplies()
        for node, reply in ask(
            # Cut off, a lock that was taken or given back could not be distinguished from one that was not.
            self.fleet,
            self._python,
            lock.do,
            given,
            read=mapping,
            timeout=TIMEOUT,
            cut=False,
        ).items():
            if reply.value is None:
                seen.silent[node] = reply.why
            else:
                seen.answers[node] = reply.value
        return seen


def majority(group: Collection[str]) -> int:
    """Return how many nodes of a group must hold a lock."""
    return len(group) // 2 + 1


def look(nodes: LockNodes) -> LockReplies:
    """Return what the nodes that keep a site's lock say, which changes nothing; AvadmError where none answers."""
    seen = nodes.do("show")
    if not seen.answers:
        blind = finding(
            "plan-blind", where=", ".join(nodes.names), found="no answer", wanted="one that answers"
        )
        raise AvadmError([blind, *findings("reachability", seen.silent)])
    return seen
