"""Metrics that several checks of files have, from filegen's raw files."""

from __future__ import annotations

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Sample


def failed(ctx: Context, paths: list[str]) -> Metric:
    """Return the failed operations of all clients."""
    samples = [ctx.sample("errors", {"clients": paths})]
    return metric("errors", ("failed operations", "失败操作数"), "operations", "aggregate", samples)


def created(ctx: Context, made: list[str]) -> Metric:
    """Return how many files were created in one directory."""
    samples = [ctx.sample("made", {"clients": made})]
    return metric("made", ("files created", "创建文件数"), "files", "aggregate", samples)


def reached(ctx: Context, made: list[str]) -> Metric:
    """Return how many files a growth series has really created."""
    samples = [ctx.sample("made", {"clients": made})]
    return metric("reached", ("files really created", "实际创建文件数"), "files", "cluster", samples)


def missing(ctx: Context, made: list[str], counted: list[str]) -> Metric:
    """Return how many files readdir does not show (``counted``: the raw file of filegen's count)."""
    samples = [ctx.sample("missing", {"clients": made, "doc": counted})]
    titles = ("created files that readdir does not show", "readdir 缺失的文件数")
    return metric("missing", titles, "files", "cluster", samples)


def stat_p99(ctx: Context, stats: list[str]) -> Metric:
    """Return the 99th percentile of random stats, ms."""
    samples = [ctx.sample("latency", {"clients": stats}, q=0.99)]
    return metric("stat-p99", ("random stat, 99th percentile", "随机 stat p99"), "ms", "client", samples)


def held_out(sample: Sample) -> Metric:
    """Return whether the largest point of a growth series lies where the smaller ones predict it."""
    titles = (
        "largest point lies in the interval that the smaller ones predict (1 = yes)",
        "留出点落在预测区间内",
    )
    return metric("held-out", titles, "bool", "cluster", [sample])
