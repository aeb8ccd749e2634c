import pytest

from avadm_validation.protocol.model import (
    CheckResult,
    Command,
    Criterion,
    Metric,
    Report,
    Sample,
    Series,
    Stated,
    Verdict,
)

GROWS = [(1, 1e8), (2, 1.9e8), (3, 2.5e8)]


def metric(name, mean, op, threshold, verdict, unit="files/s"):
    about = {"id": f"A-FS1.{name}", "check": "A-FS1", "metric": name, "method": "m", "class": "lab"}
    both = {"unit": unit, "scope": "aggregate"}
    samples = [Sample(value=mean * f, extract="x") for f in (0.9, 1.0, 1.1)]
    seen = {"samples": samples, "mean": mean, "ci95": (mean * 0.9, mean * 1.1), "cov": 0.12}
    data = {"flags": ["unstable"], "verdict": verdict, "reason": "because"}
    criterion = Criterion.model_validate({**about, **both, "op": op, "threshold": threshold})
    return Metric(name=name, title=f"10 KB files, {name}", criterion=criterion, **both, **seen, **data)


def series(name, group, kind, x, y, points):
    (x_label, x_unit), (y_label, y_unit) = x, y
    labels = {"x_label": x_label, "x_unit": x_unit, "y_label": y_label, "y_unit": y_unit}
    return Series(name=name, group=group, kind=kind, points=points, **labels)


def over_time(i):
    points = [(x, 700.0 + 50 * ((x * 7 + i * 3) % 5)) for x in range(10)]
    return series(f"run {i}", "create over time", "time", ("time", "s"), ("files", "1/s"), points)


@pytest.fixture(scope="session")
def report():
    """A run with one check of each verdict, plots, commands and awkward characters."""
    create = metric("create", 812.0, ">=", 400.0, Verdict.PASS)
    p99 = metric("p99", 12.0, "<=", 20.0, Verdict.PASS, "ms")
    slow = metric("read", 100.0, ">=", 400.0, Verdict.FAIL, "B/s")
    scaling = series("write", "scaling", "scaling", ("clients", ""), ("throughput", "B/s"), GROWS)
    ran = {"started": 1.8e9, "seconds": 3.2, "rc": 0, "stdout_path": "raw/a.json"}
    command = Command(node="comp1", command="fio --name=a | b", **ran)
    fs1 = CheckResult(
        id="A-FS1",
        title="cephfs: small files <10 KB> & more",
        title_zh="小文件",
        verdict=Verdict.PASS,
        measured=812.0,
        unit="files/s",
        threshold=400.0,
        op=">=",
        scope="aggregate",
        ci95=(730.8, 893.2),
        method="3 clients",
        class_="lab",
        stated=Stated(threshold=5000, unit="files/s", text="≥ 5,000 IOPS", judged=False),
        metrics=[create, p99],
        series=[*map(over_time, range(3)), scaling],
        commands=[command],
        evidence=["raw/a.json"],
        reasons=["the lower bound 730.8 files/s is above 400"],
    )
    others = []
    for i, verdict in enumerate(Verdict):
        about = {"id": f"A-X{i}", "title": verdict.value.lower(), "class_": "lab", "remedy": "Do it."}
        metrics = [slow] if verdict is Verdict.FAIL else []
        others.append(CheckResult(verdict=verdict, reasons=["a | b"], metrics=metrics, **about))
    return Report(
        site="lab",
        profile="lab-bookworm",
        effort="quick",
        class_="lab",
        started="2026-11-21T10:00:00+00:00",
        finished="2026-11-21T10:03:00+00:00",
        seed=7,
        versions={"ceph": "16.2.15"},
        git_commit="abc",
        config_hash="c" * 64,
        inventory_hash="d" * 64,
        environment={"clients": "3"},
        notes=["min_size 1"],
        checks=[fs1, *others],
        evidence={"raw/a.json": "e" * 64},
    )
