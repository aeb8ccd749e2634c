"""CoreDNS' configuration as the role's template writes it."""

import re

import pytest

from tests.unit.fakes.roles import template

GIVEN = {
    "coredns_address": "10.0.0.21",
    "coredns_metrics_port": 9153,
    "coredns_health_port": 8053,
    "coredns_ready_port": 8153,
    "coredns_site_domain": "demo.test",
    "coredns_cluster_domain": "cluster.local",
    "coredns_reverse": ["10.96.0.0/16"],
    "coredns_site_servers": [],
    "coredns_upstream": [],
}


def zones(**changes):
    """Return zone to its text."""
    text = template("coredns/templates/Corefile.j2", **{**GIVEN, **changes})
    return dict(re.findall(r"^(\S+) \{\n(.*?)^\}", text, re.M | re.S))


@pytest.mark.parametrize(
    ("site", "upstream", "asked", "others"),
    [
        ([], [], None, None),
        ([], ["10.0.0.6"], "10.0.0.6", "10.0.0.6"),
        (["10.0.0.5"], ["10.0.0.6"], "10.0.0.5", "10.0.0.6"),
        (["10.0.0.5", "10.0.0.7"], [], "10.0.0.5 10.0.0.7", None),
    ],
)
def test_the_site_s_domain_has_servers_of_its_own(site, upstream, asked, others):
    found = zones(coredns_site_servers=site, coredns_upstream=upstream)
    assert re.findall(r"forward \. (.*)", found["demo.test"]) == ([asked] if asked else [])
    assert re.findall(r"forward \. (.*)", found["."]) == ([others] if others else [])
    # With no one to ask, what is not in the list does not exist; without a zone it would be a failure (SERVFAIL).
    assert ("file /etc/coredns/zone demo.test" in found["demo.test"]) == (not asked)
