"""What Prometheus scrapes and probes of Kubernetes."""

import pytest

from avadm.components.monitoring import variables as monitoring
from avadm.components.monitoring import variables_kubernetes
from tests.unit.fakes.sites import issued, node, render, site


@pytest.fixture
def monitoring_vars(tmp_path):
    master, worker = node("m1", 11, "etcd", "master"), node("w1", 21, "worker", "registry")
    one = site(master, worker, node("s1", 31, "prometheus"))
    return render(one, monitoring, variables_kubernetes, store=issued(one, tmp_path)).all


@pytest.mark.parametrize(
    ("job", "targets"),
    [("calico-kube-controllers", ["10.0.0.11:9094"]), ("registry", ["10.0.0.21:5001"])],
)
def test_controllers_and_registry_are_scraped_where_they_run(monitoring_vars, job, targets):
    assert [t for g in monitoring_vars["prometheus_targets"][job] for t in g["targets"]] == targets


def test_what_is_asked_seldom_says_so_with_a_certificate_or_without(monitoring_vars):
    jobs = monitoring_vars["prometheus_jobs"]
    assert jobs["registry"] == {"client": "", "path": "/metrics", "interval_s": 60}
    assert jobs["cadvisor"]["client"] == "kubernetes"
    assert "calico" not in jobs, "as all others"


def test_the_health_of_each_kube_proxy_is_probed(monitoring_vars):
    probes = [
        g for g in monitoring_vars["prometheus_targets"]["probe"] if g["labels"]["probe"] == "kube-proxy"
    ]
    assert [g["targets"] for g in probes] == [[f"http://10.0.0.{i}:10256/healthz"] for i in (11, 21)]
    assert {g["labels"]["__param_module"] for g in probes} == {"http_2xx"}
