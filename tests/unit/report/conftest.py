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


def metric(
    name: str, mean: float, op: str, threshold: float, verdict: Verdict, unit: str = "files/s"
) -> Metric:
    criterion = Criterion.model_validate(
        {
            "id": f"A-FS1.{name}",
            "check": "A-FS1",
            "metric": name,
            "unit": unit,
            "op": op,
            "threshold": threshold,
        }
        | {"scope": "aggregate", "method": "m", "class": "lab"}
    )
    samples = [Sample(value=mean * f, extract="x") for f in (0.9, 1.0, 1.1)]
    return Metric(
        name=name,
        title=f"10 KB files, {name}",
        unit=unit,
        scope="aggregate",
        samples=samples,
        mean=mean,
        ci95=(mean * 0.9, mean * 1.1),
        cov=0.12,
        flags=["unstable"],
        criterion=criterion,
        verdict=verdict,
        reason="because",
    )


@pytest.fixture
def report() -> Report:
    """A run with one check of each verdict, plots, commands and awkward characters."""
    create = metric("create", 812.0, ">=", 400.0, Verdict.PASS)
    p99 = metric("p99", 12.0, "<=", 20.0, Verdict.PASS, "ms")
    slow = metric("read", 100.0, ">=", 400.0, Verdict.FAIL, "B/s")
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
        series=[
            Series(
                name=f"run {i}",
                group="create over time",
                kind="time",
                x_label="time",
                x_unit="s",
                y_label="files",
                y_unit="1/s",
                points=[(x, 700.0 + 50 * ((x * 7 + i * 3) % 5)) for x in range(10)],
            )
            for i in range(3)
        ]
        + [
            Series(
                name="write",
                group="scaling",
                kind="scaling",
                x_label="clients",
                x_unit="",
                y_label="throughput",
                y_unit="B/s",
                points=[(1, 1e8), (2, 1.9e8), (3, 2.5e8)],
            )
        ],
        commands=[
            Command(
                node="comp1",
                command="fio --name=a | b",
                started=1.8e9,
                seconds=3.2,
                rc=0,
                stdout_path="raw/a.json",
            )
        ],
        evidence=["raw/a.json"],
        reasons=["the lower bound 730.8 files/s is above 400"],
    )
    others = [
        CheckResult(
            id=f"A-X{i}",
            title=verdict.value.lower(),
            verdict=verdict,
            class_="lab",
            reasons=["a | b"],
            remedy="Do it.",
            metrics=[slow] if verdict is Verdict.FAIL else [],
        )
        for i, verdict in enumerate(Verdict)
    ]
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
