"""Faults of the platform that are planted on a lab that has one; more of them are in platform_more.py."""

from tests.controls.control import Act, Fault
from tests.controls.kubernetes_lab import FAULTS as KUBERNETES_FAULTS

KUBERNETES = {fault.name: fault for fault in KUBERNETES_FAULTS}
FIRST = "kubectl get nodes -l avadm.io/pool=gpu -o name | sort | head -n 1 | sed 's|.*/||'"
PLAIN = "kubectl get nodes -l avadm.io/pool=cpu,node-role.kubernetes.io/worker -o name | sed 's|.*/||'"
GPUS = "kubectl get node $node -o 'jsonpath={.status.allocatable.nvidia\\.com/gpu}'"
UNTIL = "end=$(($(date +%s) + 90)); until {}; do [ $(date +%s) -lt $end ] || exit 1; sleep 1; done"
HIDDEN = UNTIL.format(f'[ "$({GPUS})" = 0 ]')
SHOWN = UNTIL.format(f'[ "$({GPUS})" -gt 0 ]')
# In a pod of the API, which has the way to the database; what it is told comes by standard input.
POD = "$(kubectl get pods -n ava-system -l app=ava,part=api -o name | head -n 1 | sed 's|.*/||')"


def ledger(body):
    """Return a script for a master that runs Python beside the database.

    ``run(SQL)`` returns how many rows were changed, ``until(SQL, seconds)`` repeats it until one was.
    """
    return f"""kubectl exec -i -n ava-system {POD} -- python3 - <<'END'
import sys, time
from pathlib import Path
from sqlalchemy import text
from ava.services.config import Config
from ava.services.factory import store
from ava.settings import load
ledger = store(load(Path("/etc/ava/config/api.yml"), Config))
def run(line):
    with ledger.engine.begin() as connection:
        return connection.execute(text(line)).rowcount
def until(line, seconds, pause=0.1):
    end = time.monotonic() + seconds
    while not run(line):
        time.monotonic() < end or sys.exit("nothing was there to be changed: " + line)
        time.sleep(pause)
{body}
END"""


DRIFT = ledger("""
until("UPDATE groups SET used_cpu = used_cpu + 5 WHERE used_cpu > 0 AND name LIKE 'accept-%ot1' AND deleted IS NULL", 60)
# A group that is gone keeps what it was charged for.
until("UPDATE groups SET used_cpu = 0 WHERE used_cpu <> 0 AND name LIKE 'accept-%ot1' AND deleted IS NOT NULL", 200, 1)
""")
# Of the suite's trainings that never hear a stop, which are the first thing on their node. The timer starts kubelet again
# after the check has given up; what it made is ended by AVA, which takes the node for dead before.
DEAF = "docker ps -q --filter label=io.kubernetes.docker.type=container --no-trunc --format '{{.Labels}}'"
KUBELET = (
    f"for i in $(seq 300); do [ $({DEAF} | grep -c 'pod.namespace=ava-accept-.*sc2d') -ge 2 ] && break; sleep 1; done; "
    f"[ $({DEAF} | grep -c 'pod.namespace=ava-accept-.*sc2d') -ge 2 ] && "
    "systemd-run --unit=avadm-fault-kubelet --on-active=200 systemctl start kubelet && systemctl stop kubelet"
)

FAULTS = (
    Fault(
        "gpu-node-as-cpu-node",
        "a GPU node is a CPU node for Kubernetes and AVA: no taint, no device plug-in; CPU nodes take nothing",
        (
            Act("gpu:0", "systemctl stop avadm-gpu-device-plugin", "systemctl start avadm-gpu-device-plugin"),
            Act(
                "master:0",
                f"node=$({FIRST}); {HIDDEN}; kubectl taint node $node nvidia.com/gpu- && kubectl cordon $({PLAIN})",
                f"node=$({FIRST}); kubectl uncordon $({PLAIN}); kubectl taint node $node nvidia.com/gpu=:NoSchedule --overwrite",
            ),
        ),
        {"A-SC1": ("misplaced", "started-elsewhere")},
    ),
    Fault(
        "nvidia-default-for-runs",
        "the node of users' runs is left with NVIDIA's runtime as docker's default",
        KUBERNETES["nvidia-default"].acts,
        {"A-SC3": ("differing",)},
    ),
    Fault(
        "kubelet-away",
        "the kubelet of a node dies while its GPUs are given back, and stays away",
        (Act("gpu:0", KUBELET),),
        {"A-SC2": ("freed",)},
        beside=True,
    ),
    Fault(
        "ledger-drift",
        "the database charges a group for five thousandths of a core more than runs (planted in PostgreSQL)",
        (Act("master:0", DRIFT),),
        {"A-OT1": ("differing", "left")},
        beside=True,
    ),
)
