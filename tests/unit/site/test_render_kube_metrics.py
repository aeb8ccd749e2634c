"""What Prometheus is told to scrape and probe of Kubernetes."""

from pathlib import Path

import pytest

from avadm.pki import store as pki
from avadm.render import Vars, kube_metrics, monitoring
from avadm.site import profile as profiles
from avadm.site.model import Site

NODES = [
    {"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master"]},
    {"name": "w1", "address": "10.0.0.21", "roles": ["worker", "registry"]},
    {"name": "s1", "address": "10.0.0.31", "roles": ["prometheus"]},
]


@pytest.fixture
def out(tmp_path: Path) -> Vars:
    site = Site.model_validate(
        {
            "name": "demo",
            "network": {"management": "10.0.0.0/24", "domain": "demo.test", "api_vip": "10.0.0.250"},
            "nodes": NODES,
        }
    )
    path = tmp_path / "demo.yml"
    pki.issue(pki.Store.open(path), site, {name: make() for name, make in pki.makers(site).items()})
    made = Vars()
    monitoring.render(site, profiles.load("lab-bookworm"), made)
    kube_metrics.render(site, pki.Store.open(path), made)
    return made


def scraped(out: Vars, job: str) -> list[str]:
    return [t for g in out.all["prometheus_targets"][job] for t in g["targets"]]


def test_controllers_and_registry_are_scraped_where_they_run(out: Vars) -> None:
    assert scraped(out, "calico-kube-controllers") == ["10.0.0.11:9094"]
    assert scraped(out, "registry") == ["10.0.0.21:5001"]


def test_what_is_asked_seldom_says_so_with_a_certificate_or_without(out: Vars) -> None:
    jobs = out.all["prometheus_jobs"]
    assert jobs["registry"] == {"client": "", "path": "/metrics", "interval_s": 60}
    assert jobs["cadvisor"]["client"] == "kubernetes"
    assert "calico" not in jobs, "as all others"


def test_the_health_of_each_kube_proxy_is_probed(out: Vars) -> None:
    probes = [g for g in out.all["prometheus_targets"]["probe"] if g["labels"]["probe"] == "kube-proxy"]
    assert [g["targets"] for g in probes] == [
        ["http://10.0.0.11:10256/healthz"],
        ["http://10.0.0.21:10256/healthz"],
    ]
    assert {g["labels"]["__param_module"] for g in probes} == {"http_2xx"}
