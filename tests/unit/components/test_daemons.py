"""What components declare of their units for a site that is stopped as a whole: all that roles deploy, once, in order."""

import re
from collections import Counter
from fnmatch import fnmatchcase

from avadm.components.catalog import COMPONENTS, daemons
from avadm.components.model import Stage
from tests.unit.fakes import sites
from tests.unit.fakes.roles import ROOT

ROLES = "".join(
    path.read_text() for path in sorted(ROOT.glob("roles/*/*/*")) if path.suffix in (".yml", ".j2")
)
PAGE = (ROOT / "docs/how-to/power.md").read_text()
DAEMONS = [daemon for component in COMPONENTS for daemon in component.daemons]
STAYS = {
    "avadm-certificates.service",
    "avadm-certificates.timer",
    "avadm-gpu-exporter.service",
    "avadm-localnet.service",
    "avadm-log-shipper-stats.service",
    "avadm-log-shipper-stats.timer",
    "avadm-log-shipper.service",
    "avadm-nvidia-uvm.service",
    "avadm-oom.service",
    "avadm-oom.timer",
    "avadm-packet-filter.service",
    # Masked, since other units do their work.
    "docker-registry.service",
    "syslog-ng.service",
}
"""Of the machine itself: they keep nothing of the cluster, and end with the machine."""


def test_every_unit_that_a_role_writes_is_declared_or_of_the_machine():
    written = set(re.findall(r"/etc/systemd/system/([a-z-]+\.(?:service|timer))\b", ROLES))
    assert len(written) > 25
    patterns = [p for one in DAEMONS for p in (*one.units, *one.ends)]
    assert {u for u in written if not any(fnmatchcase(u, p) for p in patterns)} == STAYS & written


def test_every_declared_unit_is_a_roles():
    for pattern in (p for one in DAEMONS for p in one.units):
        name = pattern.rpartition(".")[0].replace("*", "")
        parts = (name, name.removeprefix("avadm-etcd-"), name.removeprefix("avadm-database-"))
        assert any(part in ROLES for part in parts), pattern


def test_no_unit_is_declared_twice_and_each_stage_has_one():
    counted = Counter(p for one in DAEMONS for p in one.units)
    assert [p for p, n in counted.items() if n > 1] == []
    assert {one.stage for one in DAEMONS} == set(Stage)


def test_a_node_has_what_its_duties_run():
    site = sites.site(sites.node("a", 1, "mon", "osd"), sites.node("b", 2, "client"))
    found = {n.name: {d.stage for d in daemons(site, n)} for n in site.nodes}
    assert found["a"] == {Stage.OSDS, Stage.MONITORS}
    assert found["b"] == {Stage.CLIENTS, Stage.KUBELETS}


def test_the_page_has_the_stages_in_their_order_with_their_units():
    at = [PAGE.find(f"| {stage.value} |") for stage in Stage]
    assert -1 not in at
    assert at == sorted(at)
    for daemon in DAEMONS:
        row = next(line for line in PAGE.split("\n") if f"| {daemon.stage.value} |" in line)
        for unit in daemon.units:
            assert f"`{unit.removesuffix('.service')}`" in row, (daemon.stage, unit)
