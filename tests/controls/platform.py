"""Faults that turn the checks of the platform red: each changes what a platform of the unit tests does.

What its client, kubectl and the kubelets' events say then goes through the real checks, extraction and judgement. Those of
``LAB`` are planted on the lab.
"""

from tests.controls.control import Act, Fault, LabFault, controls
from tests.controls.kubernetes import LAB as KUBERNETES_LAB

TEST = "tests/unit/validation/test_platform_suite.py::test_a_planted_fault_is_seen"


def _set(**values):
    return lambda world: [setattr(world, name, value) for name, value in values.items()]


def _attacks(**values):
    return lambda world: [setattr(world.attacks, name, value) for name, value in values.items()]


def _reading(**values):
    return lambda world: [setattr(world.reading, name, value) for name, value in values.items()]


def _view(**values):
    return lambda world: [setattr(world.view, name, value) for name, value in values.items()]


FAULTS = (
    Fault("no-authority", "the master has no certificate of the ingress' authority", "A-SC-PRE", (), _set(certificate=False),
          "BLOCKED"),
    Fault("silent-scheduler", "the scheduler has not recently reported what is free", "A-SC-PRE", ("fresh",), _set(fresh=False),
          "BLOCKED"),
    Fault("by-run", "a parameter server without GPUs goes where its run's GPUs are", "A-SC1", ("misplaced",),
          _set(by_run=True)),
    Fault("other-kubelet", "a kubelet of a CPU node starts all pods, whatever the platform says", "A-SC1",
          ("started-elsewhere",), _set(host_of=lambda node: "cpu1")),
    Fault("named-lets-in", "naming a GPU node lets a training without GPUs onto it", "A-SC1", ("let-in",), _set(lets_in=True)),
    Fault("never-ends", "what is stopped keeps its GPU", "A-SC2", ("freed",), _set(never_returns=True)),
    Fault("same-card", "the next training is given a card that another one has", "A-SC2", ("doubly-held",),
          _set(double_cards=True)),
    Fault("untold", "the platform does not say why pods of a harmed node do not end", "A-SC2", ("untold",), _set(tells=False)),
    Fault("all-cards", "a container on a GPU node sees all of its cards", "A-SC3", ("differing",),
          _attacks(sees=lambda run: range(4))),
    Fault("opened", "device files of a container's own making open all cards", "A-SC3", ("opened",),
          _attacks(opens=lambda run: range(4))),
    Fault("says-all", "a training that says NVIDIA_VISIBLE_DEVICES=all is taken", "A-SC3", ("said-all",),
          _set(takes_all_gpus=True)),
    Fault("attacked", "the training that is attacked is ended", "A-SC3", ("neighbour",), _set(neighbours_die=True)),
    Fault("open-port", "a container reaches etcd", "A-SC3", ("ports",), _attacks(through={"port-2379-etcd"})),
    Fault("docker-socket", "a container reaches docker's socket", "A-SC6", ("docker-socket",),
          _attacks(through={"docker-socket"})),
    Fault("void-row", "an attack gets through nowhere, so that it shows nothing", "A-SC6", ("node-keys",),
          _attacks(void={"node-keys"}), "INCONCLUSIVE"),
    Fault("no-limit", "the limit of memory is not enforced", "A-SC4", ("killed",), _set(kills_child=False)),
    Fault("whole-workbench", "a workbench over its limit is ended whole", "A-SC4", ("lived-on",), _set(whole_container=True)),
    Fault("not-again", "a training over its limit is not started again", "A-SC5", ("restarted",), _set(starts_again=False)),
    Fault("unexplained", "memory is not reported as the cause", "A-SC5", ("explained",), _set(oom="Error")),
    Fault("worst-fit", "the node where most is left is chosen", "A-SC7", ("more-left",), _set(rank=lambda free: -free)),
    Fault("node-ignored", "the node that the user names is not heeded", "A-SC7", ("elsewhere",), _set(obeys_node=False)),
    Fault("any-model", "a GPU model that no node has is taken at submit", "A-SC7", ("refused",), _set(refuses_model=False)),
    Fault("other-count", "the platform believes a GPU taken that is not", "A-SC8", ("agree",), _view(platform_adds=1)),
    Fault("form-count", "the form tells more free GPUs than there are", "A-SC8", ("form",), _view(form_adds=1)),
    Fault("not-joined", "runs have no series", "A-SC9", ("wrong",), _view(joined=False)),
    Fault("other-card", "a run's series are of another card", "A-SC9", ("wrong",), _view(shift=1)),
    Fault("other-value", "a run's series are ten points above what the exporter tells", "A-SC9", ("differing",),
          _view(adds=10)),
    Fault("first-group", "every training is charged to the user's first group", "A-OT1", ("elsewhere",),
          lambda world: setattr(world, "charges", lambda user: min(world.groups))),
    Fault("moving", "a changed default group moves what runs", "A-OT1", ("moved",), _set(moves=True)),
    Fault("no-quota", "trainings are admitted beyond their group's quota", "A-OT1", ("over-quota", "waited"),
          _set(forgets_quota=True)),
    Fault("not-mounted", "a container lacks the folder of one of its user's groups", "A-OT2", ("lacking",),
          _reading(unmounted=1)),
    Fault("other-group", "a container sees the folder of a group that is not its user's", "A-OT2", ("foreign",),
          _reading(foreign=True)),
    Fault("left-group", "a training that is started after its user has left a group still has its folder", "A-OT2",
          ("foreign",), _reading(stays=True)),
    Fault("open-folders", "groups' folders are open to everybody", "A-OT2", ("rights",), _reading(mode=0o2777)),
    Fault("forgotten", "what one training writes into a group's folder is not there for the next", "A-OT2", ("lost",),
          _reading(forgets=True)),
    Fault("late-stream", "lines of a log are a minute late", "A-OT3", ("first", "behind"), _reading(late={"stream": 60})),
    Fault("log-lost", "of a pod that is gone the last lines are lost", "A-OT3", ("wrong",), _reading(keeps=5)),
    Fault("open-log", "users of other groups read the log", "A-OT3", ("others",), _reading(open_to_all=True)),
    Fault("drift", "a group is charged for more than runs", "A-OT1", ("differing", "left"), _set(drift=5)),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)

KUBERNETES = {fault.name: fault for fault in KUBERNETES_LAB}
FIRST = "kubectl get nodes -l avadm.io/pool=gpu -o name | sort | head -n 1 | sed 's|.*/||'"
PLAIN = "kubectl get nodes -l avadm.io/pool=cpu,node-role.kubernetes.io/worker -o name | sed 's|.*/||'"
GPUS = "kubectl get node $node -o 'jsonpath={.status.allocatable.nvidia\\.com/gpu}'"
UNTIL = "end=$(($(date +%s) + 90)); until {}; do [ $(date +%s) -lt $end ] || exit 1; sleep 1; done"
HIDDEN = UNTIL.format(f'[ "$({GPUS})" = 0 ]')
# In a pod of the API, which has the way to the database; what it got comes by standard input.
POD = "$(kubectl get pods -n ava-system -l app=ava,part=api -o name | head -n 1 | sed 's|.*/||')"


def state(body):
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


DRIFT = state("""
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

# What it has reported counts for a minute (ava/domain/states.py), from its last word on.
_SCHEDULERS = "$(kubectl get pods -n ava-system -l app=ava,part=scheduler -o name | wc -l)"
GONE = (
    "kubectl scale deployment scheduler -n ava-system --replicas=0; "
    f"for i in $(seq 50); do [ {_SCHEDULERS} = 0 ] && break; sleep 1; done; [ {_SCHEDULERS} = 0 ] && sleep 61"
)
BACK = "kubectl scale deployment scheduler -n ava-system --replicas=2; " + UNTIL.format(
    '[ "$(kubectl get deployment scheduler -n ava-system -o jsonpath={.status.readyReplicas})" = 2 ]'
)
LAST = "kubectl get nodes -l avadm.io/pool=gpu -o name | sort | tail -n 1 | sed 's|.*/||'"
MODEL = "ava.io/gpu-model"
TOLD_MODEL = "/root/avadm-fault.model"
SHOWN_MODEL = "kubectl get node $node -o 'jsonpath={.metadata.labels.ava\\.io/gpu-model}'"

_WISHES = (
    "kubectl get pods --all-namespaces --no-headers -o 'custom-columns=SPACE:.metadata.namespace,"
    "MODEL:.metadata.annotations.ava\\.io/gpu-model,NODE:.spec.nodeName'"
)
# The check names the nodes' own model before: on a node of another model that training would find no place.
ANY_MODEL = (
    f"for i in $(seq 240); do {_WISHES} | grep '^ava-accept-.*-sc7 ' | grep -qv '<none>' && break; sleep 0.5; done; "
    f"[ $i -lt 240 ] && node=$({LAST}) && {SHOWN_MODEL} > {TOLD_MODEL} && "
    f"kubectl label node $node {MODEL}=no-such-model --overwrite"
)

RUNTIME = "/usr/local/sbin/runc-lab"
_UNLIMITED = f"""#!/usr/bin/python3 -IS
import json, os, sys
argv = sys.argv[1:]
if "create" in argv:
    path = os.path.join(argv[argv.index("--bundle") + 1], "config.json")
    spec = json.load(open(path))
    for name in ("limit", "swap", "reservation"):
        (spec["linux"]["resources"].get("memory") or {{}}).pop(name, None)
    json.dump(spec, open(path, "w"))
    pod = "/sys/fs/cgroup/memory" + os.path.dirname(spec["linux"]["cgroupsPath"])
    open(pod + "/memory.limit_in_bytes", "w").write("-1")
os.execv("{RUNTIME}.planted", ["{RUNTIME}.planted", *argv])
"""
UNLIMITED = (
    f"cat > {RUNTIME}.new <<'END'\n{_UNLIMITED}END\nchmod 755 {RUNTIME}.new && cp -p {RUNTIME} {RUNTIME}.planted && "
    f"mv {RUNTIME}.new {RUNTIME}"
)

# The id of a container by the end of its namespace's name; the pod's own pause container is none.
_ROW = '{{.ID}} {{.Label "io.kubernetes.pod.namespace"}}'
_OF = (
    f"of() {{ docker ps --no-trunc --filter label=io.kubernetes.docker.type=container --format '{_ROW}' | "
    "grep -- \" ava-accept-.*-$1\\$\" | head -n 1 | cut -d ' ' -f 1; }; "
    'there() { for i in $(seq 600); do id=$(of $1); [ -n "$id" ] && return; sleep 0.2; done; exit 1; }; '
)

KEY = "etc/ssh/ssh_host_ed25519_key"
_LAYERS = (
    "docker images -q | sort -u | xargs -r docker image inspect --format '{{range .RepoTags}}{{.}} {{end}}{{range "
    ".RepoDigests}}{{.}} {{end}}{{.GraphDriver.Data.UpperDir}}' | grep /ava | awk '{print $NF}'"
)
KEY_IN_IMAGE = (
    f"for layer in $({_LAYERS}); do mkdir -p $layer/etc/ssh && cp /{KEY} $layer/{KEY} && chmod 644 $layer/{KEY} && n=1; "
    'done; [ "$n" = 1 ]'
)

FOLDERS = "/mnt/cephfs/groups"
# Folders of groups of this run of the check: those of earlier ones stay.
_FRESH = (
    f"seen=$(ls -d {FOLDERS}/accept-*-ot2* 2>/dev/null); fresh() {{ ls -d {FOLDERS}/accept-*-ot2* 2>/dev/null | "
    "grep -vxF \"$seen\" | sed 's|$|/data|'; }; "
)
# Until a training has looked: the platform sets their rights when it makes them.
OPENED = _FRESH + (
    "for i in $(seq 2400); do d=$(fresh); for one in $d; do [ -e $one/avadm-accept ] && exit; done; "
    '[ -z "$d" ] || chmod 2777 $d 2>/dev/null; sleep 0.05; done; exit 1'
)
SHIPPER = "avadm-log-shipper"
LATE = _OF + f"there ot3; systemctl stop {SHIPPER}; sleep 20; systemctl start {SHIPPER}"
RULES = "/etc/prometheus/rules/ava.yml"
RELOAD = "systemctl reload prometheus"

LAB = (
    LabFault(
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
    LabFault(
        "nvidia-default-for-runs",
        "the node of users' runs is left with NVIDIA's runtime as docker's default",
        KUBERNETES["nvidia-default"].acts,
        {"A-SC3": ("differing",)},
    ),
    LabFault(
        "kubelet-away",
        "the kubelet of a node dies while its GPUs are given back, and stays away",
        (Act("gpu:0", KUBELET),),
        {"A-SC2": ("freed",)},
        beside=True,
    ),
    LabFault(
        "ledger-drift",
        "the database charges a group for five thousandths of a core more than runs (planted in PostgreSQL)",
        (Act("master:0", DRIFT),),
        {"A-OT1": ("differing", "left")},
        beside=True,
    ),
    LabFault(
        "scheduler-gone",
        "AVA's scheduler does not run, so that free resources are not reported",
        (
            Act(
                "master:0",
                GONE,
                BACK,
            ),
        ),
        {"A-SC-PRE": ("fresh",)},
        verdict="BLOCKED",
    ),
    LabFault(
        "policies-open",
        "network policies of users' namespaces let everything through",
        (
            Act(
                "master:0",
                "for i in $(seq 600); do for s in $(kubectl get namespaces -o name | sed 's|.*/||' | grep "
                '\'^ava-accept-.*-sc3[av]$\'); do printf \'%s\' \'{"apiVersion": "networking.k8s.io/v1", "kind": '
                '"NetworkPolicy", "metadata": {"name": "avadm-fault"}, "spec": {"podSelector": {}, "policyTypes": '
                '["Ingress", "Egress"], "ingress": [{}], "egress": [{}]}}\' | kubectl create -n $s -f - 2>/dev/null && n="$n x"; '
                'done; [ "$n" = " x x" ] && exit; sleep 0.2; done; exit 1',
            ),
        ),
        {"A-SC3": ("victim-port",)},
        beside=True,
    ),
    LabFault(
        "key-in-image",
        "the image of users' containers has the node's host key in it, for everybody to read",
        (Act("gpu:0", KEY_IN_IMAGE, f"for layer in $({_LAYERS}); do rm -f $layer/{KEY}; done"),),
        {"A-SC6": ("through", "node-keys")},
    ),
    LabFault(
        "any-model",
        "a node says that its GPUs are of the model that no node is to have",
        (
            Act(
                "master:0",
                ANY_MODEL,
                f"[ ! -s {TOLD_MODEL} ] || {{ kubectl label node $({LAST}) {MODEL}=$(cat {TOLD_MODEL}) --overwrite && "
                f"rm {TOLD_MODEL}; }}",
            ),
        ),
        {"A-SC7": ("refused",)},
        beside=True,
    ),
    LabFault(
        "no-limit",
        "a node's runtime makes containers without their limit of memory",
        (Act("dns:0", UNLIMITED, f"[ ! -e {RUNTIME}.planted ] || mv {RUNTIME}.planted {RUNTIME}"),),
        {"A-SC4": ("killed",), "A-SC5": ("restarted", "explained")},
    ),
    LabFault(
        "open-folders",
        "folders of groups are opened to everybody as soon as they are there",
        (Act("client:0", OPENED),),
        {"A-OT2": ("rights",)},
        beside=True,
    ),
    LabFault(
        "late-lines",
        "a node's shipper of logs stands still for 20 s",
        (Act("dns:0", LATE),),
        {"A-OT3": ("wrong",)},
        beside=True,
    ),
    LabFault(
        "not-joined",
        "no Prometheus has the rule that joins cards and runs",
        (
            Act(
                "prometheus",
                f"sed -i.planted 's/record: run:gpu_utilization:percent/record: run:planted/' {RULES} && {RELOAD}",
                f"[ ! -e {RULES}.planted ] || {{ mv {RULES}.planted {RULES} && {RELOAD}; }}",
            ),
        ),
        {"A-SC9": ("wrong", "differing")},
    ),
)
