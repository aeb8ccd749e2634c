"""The version of a process, which `avadm upgrade ava` asks for, in what each process exports."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ava import __version__, build
from ava.files.metrics import Metrics as Storage
from ava.operator.metrics import Metrics as Operator
from ava.scheduler.metrics import Metrics as Scheduler
from ava.services.metrics import REGISTRY


def exported(registry):
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if line.startswith("ava_build_info{")]


def test_the_version_is_the_images_and_else_the_packages(monkeypatch):
    monkeypatch.delenv("AVA_VERSION", raising=False)
    assert build.version() == __version__
    monkeypatch.setenv("AVA_VERSION", "0.1.0-0123456789ab")
    registry = CollectorRegistry()
    build.publish(registry)
    assert exported(registry) == ['ava_build_info{version="0.1.0-0123456789ab"} 1.0']


@pytest.mark.parametrize(
    "registry",
    [REGISTRY, Operator("default").registry, Scheduler().registry, Storage().registry],
    ids=["api", "operator", "scheduler", "storage"],
)
def test_each_process_exports_it(registry):
    assert len(exported(registry)) == 1


def test_the_operator_counts_its_passes():
    metrics = Operator("default")
    metrics.passes.inc()
    assert 'ava_operator_passes_total{cluster="default"} 1.0' in generate_latest(metrics.registry).decode()
