"""Which GPUs nodes have and which are taken, as Kubernetes' own API says: AVA is not asked about itself."""

from __future__ import annotations

from avadm_validation.measuring.context import Context
from avadm_validation.suites.platform import platform_client
from avadm_validation.suites.platform.gpu_table import Table, table

RESOURCE = r"nvidia\.com/gpu"
NODES = (
    rf"NODE:.metadata.name,GPU:.status.allocatable.{RESOURCE},OFF:.spec.unschedulable,"
    r'MODEL:.metadata.labels.avadm\.io/gpu-model,READY:.status.conditions[?(@.type=="Ready")].status'
)
PODS = (
    r"NODE:.spec.nodeName,PHASE:.status.phase,GPU:.spec.containers[*].resources.limits."
    rf"{RESOURCE},RUN:.metadata.labels.ava\.io/run"
)
LOOK = (
    f"kubectl --request-timeout=30s get nodes --no-headers -o 'custom-columns={NODES}' && echo -- && "
    f"kubectl --request-timeout=30s get pods --all-namespaces --no-headers -o 'custom-columns={PODS}'"
)


def look(ctx: Context, name: str) -> tuple[str, Table]:
    """Return the raw file and what it says; MeasureError where the master cannot say it."""
    platform = platform_client.target(ctx)
    done = ctx.must(ctx.rec.run(platform.master, LOOK, name))
    # Others' commands may have been kept meanwhile: this one's file is found by its text.
    path = ctx.rec.save(f"{name}-{len(ctx.rec.evidence):03d}.txt", done.stdout)
    return path, table(done.stdout)
