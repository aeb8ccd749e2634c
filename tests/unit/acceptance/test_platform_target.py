"""What acceptance measures of the platform, and how it gets its administrator: the password goes by standard input alone."""

from dataclasses import replace

import pytest

from avadm.site.load import load
from avadm_acceptance.platform_target import platform_target
from avadm_acceptance.target import target_of
from avadm_validation.measuring.context import MeasureError
from tests.unit.cli.test_ava import SITE, Masters

PASSWORD = "a-password-of-24-letters"


def target(tmp_path, text=SITE):
    path = tmp_path / "site.yml"
    path.write_text(text)
    return target_of(load(path)).platform


def test_it_is_reached_at_the_ingress_and_its_nodes_are_the_site_files(tmp_path):
    found = target(tmp_path)
    assert (found.host, found.address, found.master) == ("ava.t.test", "10.0.0.251", "mast1")
    assert (found.gpu_nodes, found.plain_nodes) == ((), ("comp1", "comp2", "comp3"))


def test_no_users_container_may_reach_the_sites_own_ports_but_names_and_the_ways_in(tmp_path):
    found = target(tmp_path)
    assert {p.port for p in found.closed} >= {22, 2379, 6443, 10250}
    assert not {p.port for p in found.closed} & {53, 80, 443}
    assert len({p.name for p in found.closed}) == len(found.closed)
    assert {p.address for p in found.closed} <= set(found.addresses.values())
    assert found.ingress in found.addresses


def test_prometheus_is_asked_what_panels_ask_with_every_variable_on_all(tmp_path):
    assert target(tmp_path).metrics is None, "the site has its own"
    own = SITE.replace('existing: ["http://10.0.0.9:9090"]', "").replace(
        "[worker, database]", "[worker, database, prometheus]"
    )
    metrics = target(tmp_path, own).metrics
    assert (metrics.node, metrics.address) == ("comp2", "10.0.0.5:9090")
    for query in (metrics.used, metrics.free, metrics.runs):
        assert "$" not in query
        assert 'node=~".*"' in query
    assert "run:gpu_utilization:percent" in metrics.runs


def test_a_site_without_it_or_without_a_way_in_has_nothing_to_measure(tmp_path):
    assert target(tmp_path, SITE.replace("  ava: {}\n", "")) is None
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    kube = target_of(load(path)).kube
    assert platform_target(load(path).site, kube) is not None
    assert platform_target(load(path).site, replace(kube, ingress="")) is None
    assert platform_target(load(path).site, None) is None


def test_the_administrators_password_goes_by_standard_input_alone(tmp_path):
    masters = Masters()
    done = target(tmp_path).make_admin(masters, "avadm-accept-admin", PASSWORD)
    assert done.stdout == "made\n"
    [(node, command, stdin)] = masters.sent
    assert (node, stdin) == ("mast1", f"{PASSWORD}\n".encode())
    assert PASSWORD not in command


def test_what_refuses_it_is_reported_without_the_password(tmp_path):
    masters = Masters()
    masters.answers["mast1"] = {"rc": 2, "err": f"no: {PASSWORD}", "out": ""}
    with pytest.raises(MeasureError) as refused:
        target(tmp_path).make_admin(masters, "avadm-accept-admin", PASSWORD)
    assert "mast1" in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_no_ready_pod_of_the_api_is_reported(tmp_path):
    masters = Masters()
    masters.answers.update({name: {"rc": 76, "out": ""} for name in ("mast1", "mast2", "mast3")})
    with pytest.raises(MeasureError, match="is ready"):
        target(tmp_path).make_admin(masters, "avadm-accept-admin", PASSWORD)
