"""The temporary settings of nodes, owners of runs, OSDs, alerts, maintenances and virtual addresses."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.cluster.setting import Setting
from avadm.disks.nodes import ask
from avadm.errors import AvadmError
from avadm.kube.node_runs import Notice, Platform
from avadm.remote import access
from avadm.remote.call import Answer, Function, mapping
from avadm.remote.call import ask as ask_all
from avadm.remote.fleet import Result
from avadm.site.placement import alertmanagers
from avadm_node.probes import haproxy
from avadm_node.probes.disks import locate

TEXTFILES = "/var/lib/prometheus/node-exporter"
"""Folder whose files node_exporter exports (roles/node_exporter)."""
END_METRIC = "avadm_maintenance_end_timestamp_seconds"
LED_S = 60.0
"""Seconds that a node has for an LED."""
API_BACKEND = "apiservers"
"""The API servers in haproxy's configuration (roles/kube_vip)."""
_HAPROXY: Function = haproxy.do


@dataclass(frozen=True)
class Cordon(Setting):
    """No new pods on a node of Kubernetes; the target is its name."""

    kind: ClassVar[str] = "cordon"
    resumed: ClassVar[bool] = True  # pods would come back in between, and AVA would withdraw its notices

    def held(self, cluster: Cluster) -> bool:
        """Return whether the node is cordoned; a node that Kubernetes does not know is not."""
        return bool(cluster.masters.ask("look", [self.target])[self.target]["cordoned"])

    def set(self, cluster: Cluster) -> None:
        """Cordon it."""
        cluster.masters.ask("cordon", [self.target])

    def unset(self, cluster: Cluster) -> None:
        """Let pods come again."""
        if self.held(cluster):
            cluster.masters.ask("uncordon", [self.target])


@dataclass(frozen=True)
class RunDrain(Setting):
    """AVA's runs leave a node, their owners notified; the target is ``NODE``, or ``NODE ADMINISTRATOR`` where one is named.

    Attributes:
        notice: what the owners are given.
    """

    kind: ClassVar[str] = "ava-drain"
    blocks: ClassVar[bool] = (
        False  # AVA may be down; where the node takes pods, it withdraws the notice by itself
    )
    resumed: ClassVar[bool] = True  # the notice would begin again
    notice: Notice = field(default_factory=Notice)

    @classmethod
    def of(cls, node: str, administrator: str, notice: Notice) -> Self:
        """Return that of a node, in the name of an administrator; of the only one where empty."""
        return cls(f"{node} {administrator}" if administrator else node, notice)

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"notice to the owners of AVA's runs on {self._node}"

    @property
    def _node(self) -> str:
        return self.target.partition(" ")[0]

    def _platform(self, cluster: Cluster) -> Platform | None:
        return cluster.platform(self.target.partition(" ")[2])

    def held(self, cluster: Cluster) -> bool:
        """Return whether AVA drains the node; never on a site without AVA."""
        platform = self._platform(cluster)
        return platform is not None and platform.node(self._node).until is not None

    def set(self, cluster: Cluster) -> None:
        """Notify the owners; the first notice stays."""
        if (platform := self._platform(cluster)) is not None:
            platform.begin(self._node, self.notice)

    def unset(self, cluster: Cluster) -> None:
        """Let the runs stay."""
        if (platform := self._platform(cluster)) is not None:
            platform.withdraw(self._node)


@dataclass(frozen=True)
class Noout(Setting):
    """OSDs of a host stay in while they are down, so that their data are not copied elsewhere; the target is the host's name.

    Of that host alone (``ceph osd set-group``): the flag for the whole cluster would hold up the recovery of a disk that dies
    elsewhere meanwhile.
    """

    kind: ClassVar[str] = "noout"

    def held(self, cluster: Cluster) -> bool:
        """Return whether the host has the flag."""
        flags = cluster.ceph("osd", "dump").get("crush_node_flags") or {}
        return "noout" in flags.get(self.target, ())

    def set(self, cluster: Cluster) -> None:
        """Set the flag of the host."""
        cluster.ceph("osd", "set-group", "noout", self.target)

    def unset(self, cluster: Cluster) -> None:
        """Remove the flag of the host."""
        if self.held(cluster):
            cluster.ceph("osd", "unset-group", "noout", self.target)


@dataclass(frozen=True)
class SiteNoout(Setting):
    """No OSD is marked out while it is down; the target is ``all``.

    For a site that is switched off as a whole, in which no host could take what another one holds.
    """

    kind: ClassVar[str] = "site-noout"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return "noout"

    def held(self, cluster: Cluster) -> bool:
        """Return whether the cluster has the flag."""
        return "noout" in str(cluster.ceph("osd", "dump").get("flags", "")).split(",")

    def set(self, cluster: Cluster) -> None:
        """Set the flag."""
        cluster.ceph("osd", "set", "noout")

    def unset(self, cluster: Cluster) -> None:
        """Remove the flag."""
        if self.held(cluster):
            cluster.ceph("osd", "unset", "noout")


@dataclass(frozen=True)
class LocateLed(Setting):
    """The LED by which people find a disk in its bay; the target is ``NODE DEVICE``. Where it cannot be lit, it is not."""

    kind: ClassVar[str] = "locate-led"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"locate LED of {self.target}"

    def held(self, cluster: Cluster) -> bool:
        """Return that it is not: what lit it before cannot be asked everywhere, and no one needs it afterwards."""
        return False

    def set(self, cluster: Cluster) -> None:
        """Light it."""
        self.switch(cluster, on=True)

    def unset(self, cluster: Cluster) -> None:
        """Put it out."""
        self.switch(cluster, on=False)

    def switch(self, cluster: Cluster, *, on: bool) -> str:
        """Light it or put it out; return how that went, in words: no operation ends for a LED."""
        node, _, device = self.target.partition(" ")
        given = {"device": device, "on": on}
        try:
            found = ask(cluster.fleet, cluster.site_file.profile.python, node, locate.do, given, LED_S)
        except AvadmError as error:
            return f"not lit: {error}"
        return f"{'lit' if on else 'out'}, by {found['how']}" if found["done"] else f"not lit: {found['how']}"


@dataclass(frozen=True)
class AddressAway(Setting):
    """No virtual address on a node, since its keepalived is stopped: another node holds it; the target is the node's name."""

    kind: ClassVar[str] = "address-away"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"no virtual address on {self.target} (keepalived is stopped)"

    def held(self, cluster: Cluster) -> bool:
        """Return whether keepalived is stopped, by this operation or before it."""
        # Exit status 3: it is not active. Any other is no answer to this question.
        done = self._run(cluster, "systemctl is-active --quiet keepalived", (0, 3))
        return done.rc == 3

    def set(self, cluster: Cluster) -> None:
        """Stop keepalived, which gives the address away at once."""
        self._run(cluster, "systemctl stop keepalived", (0,))

    def unset(self, cluster: Cluster) -> None:
        """Start keepalived; a node that the site no longer has counts as done."""
        if any(node.name == self.target for node in cluster.site.nodes):
            self._run(cluster, "systemctl start keepalived", (0,))

    def _run(self, cluster: Cluster, command: str, good: tuple[int, ...]) -> Result:
        done = cluster.fleet.run(self.target, command, timeout=60.0)
        if done.error is not None:
            raise AvadmError(access.finding("address-away", self.target, done.error))
        if done.rc not in good:
            raise AvadmError(finding("address-away", command, done.complaint, host=self.target))
        return done


@dataclass(frozen=True)
class ApiServerAway(Setting):
    """No request through the API's virtual address comes to a node's API server; the target is the node's name.

    haproxy of every master keeps it in memory: one that starts again has forgotten it, as if it had been undone.
    """

    kind: ClassVar[str] = "api-server-away"
    blocks: ClassVar[bool] = False  # the other API servers do its work

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"no requests to the API server of {self.target}"

    def held(self, cluster: Cluster) -> bool:
        """Return whether a haproxy keeps requests from it; one that does not run, or cannot be asked, keeps nothing."""
        return any(one.value is not None and one.value["away"] for one in self._all(cluster, None).values())

    def set(self, cluster: Cluster) -> None:
        """Have each haproxy finish its requests, and send it no further ones."""
        for node, one in self._all(cluster, "away").items():
            # The one that does not answer sends no request there.
            if one.value is not None and one.value["why"] and one.value["away"] is not None:
                raise AvadmError(finding("api-server-away", one.value["why"], host=node))

    def unset(self, cluster: Cluster) -> None:
        """Let requests come again; a node that the site no longer has counts as done.

        Raises:
            AvadmError: a haproxy keeps requests from it, or its node cannot be reached and may still do so.
        """
        if any(node.name == self.target for node in cluster.site.nodes):
            for node, one in self._all(cluster, "back").items():
                if one.value is None:
                    raise AvadmError(access.finding("api-server-away", node, one.why))
                if one.value["away"]:
                    raise AvadmError(finding("api-server-away", one.value["why"], host=node))

    def _all(self, cluster: Cluster, want: str | None) -> dict[str, Answer[dict[str, Any]]]:
        """Return each master's answer."""
        given = {"backend": API_BACKEND, "server": self.target, "want": want}
        masters = cluster.asked("master")
        python, asked = cluster.site_file.profile.python, dict.fromkeys(masters, given)
        return ask_all(cluster.fleet, python, _HAPROXY, asked, read=mapping)


@dataclass(frozen=True)
class Silence(Setting):
    """No notices of alerts about some nodes until a time; the target is a name, which stands in its comment.

    Attributes:
        nodes: the nodes.
        until: when it ends by itself, ``2026-11-28T12:00:00Z``.
        reason: what people who find it are to know.
    """

    kind: ClassVar[str] = "silence"
    blocks: ClassVar[bool] = False  # it ends by itself
    nodes: tuple[str, ...] = ()
    until: str = ""
    reason: str = ""

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"no notices of alerts about {', '.join(self.nodes) or self.target}"

    @property
    def _mark(self) -> str:
        return f"avadm {self.target}"

    @property
    def _matcher(self) -> str:
        return "node=~" + "|".join(re.escape(node) for node in self.nodes)

    def _found(self, cluster: Cluster) -> list[str]:
        """Return the ids of ours, of all that have not ended."""
        text = _amtool(cluster, "silence", "query", "-o", "json")
        with health.reading("query", "alertmanager-command"):
            found: list[dict[str, Any]] = json.loads(text or "[]") or []
            return [one["id"] for one in found if str(one.get("comment", "")).split(": ")[0] == self._mark]

    def held(self, cluster: Cluster) -> bool:
        """Return whether it is there."""
        return bool(self._found(cluster))

    def set(self, cluster: Cluster) -> None:
        """Add it, unless it is there."""
        if self._found(cluster):
            return
        matcher = self._matcher
        comment = f"{self._mark}: {self.reason}" if self.reason else self._mark
        _amtool(
            cluster,
            "silence",
            "add",
            f"--end={self.until}",
            "--author=avadm",
            f"--comment={comment}",
            matcher,
        )

    def unset(self, cluster: Cluster) -> None:
        """End it."""
        if found := self._found(cluster):
            _amtool(cluster, "silence", "expire", *found)


@dataclass(frozen=True)
class SiteSilence(Silence):
    """No notices of any alert until a time; the target is a name, which stands in its comment."""

    kind: ClassVar[str] = "site-silence"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return "no notices of alerts"

    @property
    def _matcher(self) -> str:
        return "alertname=~.+"


@dataclass(frozen=True)
class EndMetric(Setting):
    """The metric that has the end of a maintenance, in a node's text files; the target is ``NODE/MAINTENANCE``.

    Attributes:
        nodes: the nodes of the maintenance.
        until: epoch seconds.
    """

    kind: ClassVar[str] = "maintenance-metric"
    blocks: ClassVar[bool] = False  # at worst an alert about a maintenance that has ended
    nodes: tuple[str, ...] = ()
    until: float = 0.0

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"the end time as a metric of {self._node}"

    @property
    def _node(self) -> str:
        return self.target.partition("/")[0]

    @property
    def _maintenance(self) -> str:
        return self.target.partition("/")[2]

    @property
    def _path(self) -> str:
        return f"{TEXTFILES}/avadm-maintenance-{self._maintenance}.prom"

    def held(self, cluster: Cluster) -> bool:
        """Return whether the file is there; it is ours alone, so that one of a former try counts as not set."""
        return False

    def set(self, cluster: Cluster) -> None:
        """Write the file."""
        labels = f'maintenance="{self._maintenance}",nodes="{" ".join(self.nodes)}"'
        text = (
            f"# HELP {END_METRIC} When a maintenance is to have ended.\n# TYPE {END_METRIC} gauge\n"
            f"{END_METRIC}{{{labels}}} {self.until:.0f}\n"
        )
        self._done(cluster.fleet.put(self._node, text.encode(), self._path))

    def unset(self, cluster: Cluster) -> None:
        """Remove the file; a node that the site no longer has counts as done."""
        if any(node.name == self._node for node in cluster.site.nodes):
            self._done(cluster.fleet.run(self._node, shlex.join(["rm", "-f", "--", self._path])))

    def _done(self, result: Result) -> None:
        if result.error is not None:
            raise AvadmError(access.finding("maintenance-metric", self._node, result.error))
        if result.rc != 0:
            raise AvadmError(finding("maintenance-metric", self._path, result.complaint, host=self._node))


def _amtool(cluster: Cluster, *words: str) -> str:
    """Return what amtool prints on the first node of Alertmanager that answers."""
    nodes = [n.name for n in alertmanagers(cluster.site)]
    return cluster.first(
        nodes, shlex.join(["timeout", "30", "amtool", *words]), "alertmanager-command", words[1]
    )
