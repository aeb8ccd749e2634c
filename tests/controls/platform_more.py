"""More faults of the platform that are planted on a lab: in the database, on nodes, and by a scheduler that is not AVA's."""

from tests.controls.control import Act, Fault
from tests.controls.platform_lab import UNTIL, ledger

# What it has told counts for a minute (ava/domain/states.py), from its last word on.
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
ROLE = "/root/avadm-fault.scheduler.json"
BINDER = "/root/avadm-fault.binder.py"
# A second scheduler: each of AVA's pods that names no node goes to the node with GPUs where most of them are left.
_BINDER = """
import json, subprocess, time
def kubectl(*words, given=None):
    done = subprocess.run(["kubectl", "--request-timeout=10s", *words], input=given, capture_output=True, text=True)
    return done.stdout
def asked(pod):
    return sum(int(c["resources"].get("requests", {}).get("nvidia.com/gpu", 0)) for c in pod["spec"]["containers"])
while True:
    pods = json.loads(kubectl("get", "pods", "--all-namespaces", "-o", "json") or '{"items": []}')["items"]
    open_ = [p for p in pods if p["status"].get("phase") not in ("Succeeded", "Failed")]
    for pod in open_:
        name, space = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if pod["spec"].get("nodeName") or not space.startswith("ava-accept-") or not asked(pod):
            continue
        nodes = json.loads(kubectl("get", "nodes", "-l", "avadm.io/pool=gpu", "-o", "json"))["items"]
        free = {n["metadata"]["name"]: int(n["status"]["allocatable"].get("nvidia.com/gpu", 0)) for n in nodes}
        for other in open_:
            if other["spec"].get("nodeName") in free:
                free[other["spec"]["nodeName"]] -= asked(other)
        where = pod["metadata"].get("annotations", {}).get("ava.io/node") or max(sorted(free), key=free.get)
        target = {"apiVersion": "v1", "kind": "Node", "name": where}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": space}, "target": target}
        kubectl("create", "-n", space, "-f", "-", given=json.dumps(binding))
        pod["spec"]["nodeName"] = where
    time.sleep(0.3)
"""
_NO_BINDING = (
    "import json, sys; role = json.load(sys.stdin); role['rules'] = [r for r in role['rules'] if r['resources'] != "
    "['pods/binding']]; json.dump(role, sys.stdout)"
)
_PLAIN = (
    "import json, sys; role = json.load(sys.stdin); [role['metadata'].pop(k, 0) for k in ('resourceVersion', 'uid', "
    "'creationTimestamp', 'selfLink')]; json.dump(role, sys.stdout)"
)
WORST = (
    f'kubectl get clusterrole ava:scheduler -o json | python3 -c "{_PLAIN}" > {ROLE} && '
    f'python3 -c "{_NO_BINDING}" < {ROLE} | kubectl replace -f - && '
    f"cat > {BINDER} <<'END'\n{_BINDER}END\nsystemd-run --unit=avadm-fault-binder --setenv=HOME=/root python3 {BINDER}"
)
NOT_WORST = (
    f"systemctl stop avadm-fault-binder 2>/dev/null || true; if [ -s {ROLE} ]; then kubectl replace -f {ROLE} && rm {ROLE}; fi; "
    f"rm -f {BINDER}"
)

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
NEIGHBOUR = _OF + "for one in sc4 sc5; do there ${one}; there ${one}n; docker kill $id || exit 1; done"
WHOLE = _OF + (
    "there sc4; groups=$(find /sys/fs/cgroup -name $id); for i in $(seq 1200); do for one in $groups; do grep -qs "
    "'oom_kill [1-9]' $one/memory.oom_control $one/memory.events && docker kill $id && exit; done; sleep 0.1; done; exit 1"
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
KUBECONFIG = "/etc/kubernetes/kubelet.kubeconfig"

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
FORGOTTEN = _FRESH + (
    'for i in $(seq 1200); do f=; for one in $(fresh); do [ ! -s $one/avadm-accept ] || f="$f $one/avadm-accept"; done; '
    "[ $(echo $f | wc -w) -ge 2 ] && sleep 1 && rm $f && exit; sleep 0.1; done; exit 1"
)
SHIPPER = "avadm-log-shipper"
LATE = _OF + f"there ot3; systemctl stop {SHIPPER}; sleep 20; systemctl start {SHIPPER}"
RULES = "/etc/prometheus/rules/ava.yml"
RELOAD = "systemctl reload prometheus"

# Planted while the check runs: its users and groups are made for it.
MORE_QUOTA = ledger("""
for name in ("accept-%ot1", "accept-%ot11"):
    until(f"UPDATE groups SET quota_cpu = 1000000 WHERE quota_cpu > 0 AND name LIKE '{name}' AND deleted IS NULL", 60, 0.02)
""")
MOVED = ledger("""
until("UPDATE runs SET group_name = (SELECT m.group_name FROM members m WHERE m.user_name = runs.owner AND m.group_name <> "
      "runs.group_name) WHERE owner = 'avadm-accept-ot1' AND phase = 'admitted' AND name = 'first'", 120)
""")
# In the deletion itself: whoever looks afterwards comes too late. Its user is disabled before the check ends its groups.
STAYS = ledger("""
run("CREATE FUNCTION avadm_fault_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO members SELECT OLD.* FROM "
    "users WHERE name = OLD.user_name AND state = 'active'; RETURN NULL; END $$")
run("CREATE TRIGGER avadm_fault_stays AFTER DELETE ON members FOR EACH ROW WHEN (OLD.user_name = 'avadm-accept-ot2' AND "
    "OLD.group_name LIKE 'accept-%ot21') EXECUTE PROCEDURE avadm_fault_stays()")
""")
STAYS_NOT = ledger("""
run("DROP TRIGGER IF EXISTS avadm_fault_stays ON members")
run("DROP FUNCTION IF EXISTS avadm_fault_stays()")
""")
OTHERS = ledger("""
until("UPDATE users SET admin = true WHERE name = 'avadm-accept-ot3o' AND state = 'active' AND NOT admin", 60, 0.02)
until("UPDATE users SET admin = false WHERE name = 'avadm-accept-ot3o' AND state <> 'active'", 200, 1)
""")

FAULTS = (
    Fault(
        "scheduler-gone",
        "AVA's scheduler does not run, so that nobody tells what is free",
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
    Fault(
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
    Fault(
        "key-in-image",
        "the image of users' containers has the node's host key in it, for everybody to read",
        (Act("gpu:0", KEY_IN_IMAGE, f"for layer in $({_LAYERS}); do rm -f $layer/{KEY}; done"),),
        {"A-SC6": ("through", "node-keys")},
    ),
    Fault(
        "nothing-to-find",
        "kubelet's credentials are not where they are looked for: that nobody reads them proves nothing",
        (
            Act(
                "gpu:0",
                f"mv {KUBECONFIG} {KUBECONFIG}.planted",
                f"[ ! -e {KUBECONFIG}.planted ] || mv {KUBECONFIG}.planted {KUBECONFIG}",
            ),
        ),
        {"A-SC6": ("kubelet-credentials",)},
    ),
    Fault(
        "worst-fit",
        "another scheduler binds pods with GPUs to the node where most is left; AVA's own may not bind",
        (Act("master:0", WORST, NOT_WORST),),
        {"A-SC7": ("more-left",)},
    ),
    Fault(
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
    Fault(
        "no-limit",
        "a node's runtime makes containers without their limit of memory",
        (Act("dns:0", UNLIMITED, f"[ ! -e {RUNTIME}.planted ] || mv {RUNTIME}.planted {RUNTIME}"),),
        {"A-SC4": ("killed",), "A-SC5": ("restarted", "explained")},
    ),
    Fault(
        "neighbour-killed",
        "the neighbour of what takes too much memory is killed",
        (Act("dns:0", NEIGHBOUR),),
        {"A-SC4": ("neighbour",), "A-SC5": ("neighbour",)},
        beside=True,
    ),
    Fault(
        "workbench-whole",
        "the whole container of a workbench is killed as soon as one of its processes was for its memory",
        (Act("dns:0", WHOLE),),
        {"A-SC4": ("lived-on",)},
        beside=True,
    ),
    Fault(
        "quota-raised",
        "groups may have fifty times what their administrator has said (planted in PostgreSQL)",
        (Act("master:0", MORE_QUOTA),),
        {"A-OT1": ("waited",)},
        beside=True,
    ),
    Fault(
        "run-moved",
        "a run that continues is another group's in the database (planted in PostgreSQL)",
        (Act("master:0", MOVED),),
        {"A-OT1": ("moved",)},
        beside=True,
    ),
    Fault(
        "open-folders",
        "folders of groups are opened to everybody as soon as they are there",
        (Act("client:0", OPENED),),
        {"A-OT2": ("rights",)},
        beside=True,
    ),
    Fault(
        "file-forgotten",
        "what a training has written into groups' folders is removed",
        (Act("client:0", FORGOTTEN),),
        {"A-OT2": ("lost",)},
        beside=True,
    ),
    Fault(
        "member-for-ever",
        "who leaves a group is at once in it again (planted in PostgreSQL)",
        (Act("master:0", STAYS, STAYS_NOT),),
        {"A-OT2": ("foreign",)},
    ),
    Fault(
        "late-lines",
        "a node's shipper of logs stands still for 20 s",
        (Act("dns:0", LATE),),
        {"A-OT3": ("wrong",)},
        beside=True,
    ),
    Fault(
        "all-may-read",
        "a user of another group may read everybody's logs (made an administrator in PostgreSQL)",
        (Act("master:0", OTHERS),),
        {"A-OT3": ("others",)},
        beside=True,
    ),
    Fault(
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
