"""Names by which the gateways find workbenches."""

from __future__ import annotations

from ava.domain import labels
from ava.domain.workbench import service


def ssh_name(definition: str, group: str, domain: str) -> str:
    """Return the name by which the ssh gateway finds a workbench."""
    return f"{service(definition)}.{labels.namespace(group)}.svc.{domain}"
