"""Metrics as a check makes them, before they are judged."""

from __future__ import annotations

from collections.abc import Sequence

from avadm_validation.protocol.model import Metric, Sample


def metric(name: str, titles: tuple[str, str], unit: str, scope: str, samples: Sequence[Sample]) -> Metric:
    """Make a metric that is not judged yet; ``titles`` are English and Chinese."""
    return Metric(
        name=name, title=titles[0], title_zh=titles[1], unit=unit, scope=scope, samples=list(samples)
    )
