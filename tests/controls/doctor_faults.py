"""Troubles that are really made on the lab, and what the doctor must say of each; the test is tests/lab/doctor."""

from dataclasses import dataclass

from tests.controls.control import Act


@dataclass(frozen=True)
class Plant:
    """A trouble of the lab.

    Attributes:
        name: the test's parameter.
        requirement: the known trouble that it is, K1 to K12; "" for another one.
        text: what is done, in words.
        acts: what is done to which nodes, and what takes it away.
        check: id of the check that must find it.
        where: what the place that it names must hold; ``{}`` is the node of the first act.
        status: what it must say.
        slow: whether only `make test-faults` plants it.
        lingers: whether it stays to be seen for some minutes after it is gone: logs, or what Kubernetes waits for.
        within: seconds after which it must be found.
        component: what the lab's site file must have under ``components``, where the acts' roles do not tell it.
    """

    name: str
    requirement: str
    text: str
    acts: tuple[Act, ...]
    check: str
    where: str = "{}"
    status: str = "bad"
    slow: bool = False
    lingers: bool = False
    within: int = 60
    component: str = ""


def until(condition: str, seconds: int = 60) -> str:
    """Return a script that waits for a condition; it fails where that does not come."""
    return f"end=$(($(date +%s) + {seconds})); until {condition}; do [ $(date +%s) -lt $end ] || exit 1; sleep 1; done"


_ASK = "curl -sf --noproxy '*' --max-time 10"
_PROPERTIES = "/etc/alluxio/alluxio-site.properties"
_MASTER = f"$(sed -n 's/^alluxio.master.hostname=//p' {_PROPERTIES}):19999/metrics/prometheus/"
_WORKER = f"$(sed -n 's/^alluxio.worker.hostname=//p' {_PROPERTIES}):29998/metrics/prometheus/"
# A worker that is back is taken from the lost ones when it has reported the master so.
_SERVES = (
    f"{_ASK} -o /dev/null http://{_WORKER} && {_ASK} http://{_MASTER} | grep -q '^Cluster_Workers' "
    f"&& ! {_ASK} http://{_MASTER} | grep -q '^Cluster_LostWorkers.* [1-9]'"
)
_NO_WORKER = (
    Act(
        "alluxio_worker:-1",
        "systemctl stop avadm-alluxio-worker",
        f"systemctl start avadm-alluxio-worker; {until(_SERVES, 120)}",
    ),
)
_STORE = "/etc/systemd/system/avadm-log-store.service"
_DROP = "/run/systemd/system/avadm-log-store.service.d"
_LISTENS = f"$(sed -n 's/.*-httpListenAddr=\\([^ ]*\\).*/\\1/p' {_STORE})"
_TAKES = f"{_ASK} -o /dev/null --cacert /etc/avadm/logs/ca.crt https://{_LISTENS}/health"
# The unit that looks at the store has failed meanwhile, until it looks again.
_LOOK = f"{until(_TAKES)}; systemctl start avadm-log-watch || true"

DATA_PLANTS: tuple[Plant, ...] = (
    Plant(
        "gateway-stopped",
        "",
        "an S3 gateway is stopped",
        (
            Act(
                "rgw:0",
                "systemctl stop ceph-radosgw@rgw.$(hostname)",
                "systemctl start ceph-radosgw@rgw.$(hostname)",
            ),
        ),
        "objects-gateway",
    ),
    Plant(
        "objects-address-lost",
        "",
        "keepalived is stopped on all nodes with S3 gateways",
        (Act("rgw", "systemctl stop keepalived", "systemctl start keepalived"),),
        "objects-address",
        slow=True,
    ),
    Plant(
        "cache-unmounted",
        "",
        "the cache is unmounted on a client",
        (
            Act(
                "alluxio_client:-1", "systemctl stop avadm-alluxio-fuse", "systemctl start avadm-alluxio-fuse"
            ),
        ),
        "cache-mount",
    ),
    Plant(
        "cache-hangs",
        "",
        "the process that serves the cache's mount is halted on a client",
        (
            Act(
                "alluxio_client:-1",
                "systemctl kill -s STOP avadm-alluxio-fuse",
                "systemctl kill -s CONT avadm-alluxio-fuse",
            ),
        ),
        "cache-mount",
        slow=True,
    ),
    Plant(
        "cache-worker-stopped",
        "",
        "a worker of the cache is stopped",
        _NO_WORKER,
        "cache-worker",
        slow=True,
    ),
    Plant(
        "cache-worker-lost",
        "",
        "a worker of the cache is stopped for so long that the master takes it for lost (30 s)",
        _NO_WORKER,
        "cache-workers",
        where="cluster",
        status="warn",
        slow=True,
        within=120,
    ),
    Plant(
        "cache-master-stopped",
        "",
        "every master of the cache is stopped",
        (
            Act(
                "alluxio_master",
                "systemctl stop avadm-alluxio-master",
                "systemctl start avadm-alluxio-master; "
                + until(f"{_ASK} http://{_MASTER} | grep -q '^Cluster_Workers'", 120),
            ),
        ),
        "cache-leader",
        slow=True,
    ),
    # The lab keeps its logs on the nodes of Prometheus.
    Plant(
        "log-store-stopped",
        "",
        "a store of logs is stopped",
        (
            Act(
                "prometheus:0",
                "systemctl stop avadm-log-store",
                f"systemctl start avadm-log-store; {_LOOK}",
            ),
        ),
        "logs-store",
        component="logs",
    ),
    Plant(
        "log-store-full",
        "",
        "a store of logs takes nothing: more has to be free than the machine has",
        (
            Act(
                "prometheus:0",
                f"mkdir -p {_DROP}; {{ echo '[Service]'; echo ExecStart=; sed -n '/^ExecStart=/,/loggerLevel/p' {_STORE} | "
                f"sed 's/minFreeDiskSpaceBytes=[^ ]*/minFreeDiskSpaceBytes=900TiB/'; }} > {_DROP}/doctor.conf; "
                "systemctl daemon-reload; systemctl restart avadm-log-store",
                f"rm -f {_DROP}/doctor.conf; systemctl daemon-reload; systemctl restart avadm-log-store; {_LOOK}",
            ),
        ),
        "logs-disk",
        component="logs",
        slow=True,
        within=150,
    ),
    Plant(
        "log-shipper-stopped",
        "",
        "the shipper of a node's logs is stopped",
        (
            Act(
                "client:-1",
                "systemctl stop avadm-log-shipper",
                # The unit that counts has failed meanwhile, until it counts again.
                "systemctl start avadm-log-shipper; systemctl start avadm-log-shipper-stats || true",
            ),
        ),
        "logs-shipper",
        component="logs",
    ),
)


HERE = "/run/avadm-doctor"
# Not below /run: that may be noexec.
OLD = "/var/lib/avadm-doctor-ceph"
_LONG = "/var/lib/avadm-doctor"


def _disk(options: str, fill: str) -> tuple[str, str]:
    """Return how a small file system comes to be at /var/lib/avadm-doctor, and how it goes."""
    do = (
        f"mkdir -p {_LONG} {HERE} && truncate -s 64M {HERE}/disk && mkfs.ext4 -q -m 0 {HERE}/disk && "
        f"mount -o loop{options} {HERE}/disk {_LONG} && {fill}"
    )
    return do, f"umount -q {_LONG} || true; rmdir {_LONG} 2>/dev/null || true; rm -f {HERE}/disk"


def _pod(name: str, image: str, command: str, node: str = "") -> str:
    """Return the JSON of a pod; $IMAGE and $NODE may be in it."""
    where = f'"nodeName": "{node}", ' if node else ""
    return (
        f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "default"}}, "spec": {{{where}'
        f'"terminationGracePeriodSeconds": 1, "containers": [{{"name": "c", "image": "{image}", '
        f'"imagePullPolicy": "IfNotPresent", '
        f'"command": {command}}}]}}}}'
    )


def _run(name: str, command: str) -> tuple[Act, ...]:
    """Return the acts that run a pod of Calico's image, which every node has, on some worker."""
    image = "IMAGE=$(docker inspect -f '{{.Config.Image}}' calico-node)"
    ready = "kubectl get nodes -l node-role.kubernetes.io/worker -o name | head -n 1 | sed 's|.*/||'"
    do = f"{image}; NODE=$({ready}); kubectl apply -f - <<END\n{_pod(name, '$IMAGE', command, '$NODE')}\nEND"
    return (Act("master:0", do, f"kubectl delete pod {name} --ignore-not-found --now"),)


_POOL = (
    '{"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": {"name": "doctor"}, "spec": '
    '{"cidr": "10.99.99.0/31", "blockSize": 32, "nodeSelector": "!all()"}}'
)


def _addressed(number: int) -> str:
    note = '"annotations": {"cni.projectcalico.org/ipv4pools": "[\\"10.99.99.0/31\\"]"}, '
    pod = _pod(f"doctor-{number}", "avadm/pause:1", '["/pause"]')
    return pod.replace('"metadata": {', f'"metadata": {{{note}')


_MANY = " ".join(f"doctor-{i}" for i in range(3))
_FULL, _UNFULL = _disk("", f"(dd if=/dev/zero of={_LONG}/x bs=1M 2>/dev/null || true)")
_LOCKED, _UNLOCKED = _disk(",ro", "true")
_PROXY = "/etc/haproxy/haproxy.cfg"
_OSD = "ls /var/lib/ceph/osd | sed -n '1s/.*-//p'"

PLANTS: tuple[Plant, ...] = (
    Plant(
        "private-mount",
        "K1",
        "a process binds the host's root recursively and privately",
        (
            Act(
                "worker:0",
                f"mkdir -p {HERE}/host; setsid unshare --mount --propagation private sh -c 'echo $$ > {HERE}/pid; "
                f"mount --rbind / {HERE}/host; mount --make-rprivate {HERE}/host; exec sleep 3600' </dev/null >/dev/null 2>&1 & "
                + until(
                    f"[ -s {HERE}/pid ] && grep -q ' {HERE}/host ' /proc/$(cat {HERE}/pid)/mountinfo", 20
                ),
                f"[ ! -s {HERE}/pid ] || kill $(cat {HERE}/pid) || true; rm -f {HERE}/pid; rmdir {HERE}/host 2>/dev/null || true",
            ),
        ),
        "private-mounts",
    ),
    Plant(
        "ceph-version-skew",
        "K1",
        "a client's program of ceph says that it is of another release (a wrapper over it: there is no other package here)",
        (
            Act(
                "client:0",
                f"mkdir -p {HERE} && printf '#!/bin/sh\\necho \"ceph version 14.2.21 (x) nautilus "
                f"(stable)\"\\n' > {OLD} && chmod 755 {OLD} "
                f"&& mount --bind {OLD} /usr/bin/ceph",
                f"umount /usr/bin/ceph || true; rm -f {OLD}",
            ),
        ),
        "ceph-versions",
    ),
    Plant(
        "not-ready",
        "K2",
        "kubelet of a worker is stopped",
        (Act("worker:-1", "systemctl stop kubelet", "systemctl start kubelet"),),
        "kube-nodes-ready",
        within=120,
        slow=True,
    ),
    Plant(
        "xtables-lock",
        "K2",
        "the iptables lock is a directory",
        (
            Act(
                "worker:0",
                "mv /run/xtables.lock /run/xtables.lock.doctor && mkdir /run/xtables.lock",
                "[ ! -e /run/xtables.lock.doctor ] || "
                "{ rmdir /run/xtables.lock; mv /run/xtables.lock.doctor /run/xtables.lock; }",
            ),
        ),
        "xtables-lock",
    ),
    Plant("full-disk", "K3", "a file system is filled", (Act("worker:0", _FULL, _UNFULL),), "disk-space"),
    Plant(
        "disk-pressure",
        "K3",
        "kubelet of a worker wants more free space than there is, and so is under pressure",
        (
            Act(
                "worker:-1",
                "d=/run/systemd/system/kubelet.service.d; mkdir -p $d; { printf '[Service]\\nExecStart=\\n'; "
                "sed -n '/^ExecStart=/,/[^\\\\]$/p' /etc/systemd/system/kubelet.service | sed "
                "'s/nodefs.available<[0-9.]*/nodefs.available<99.9/'; "
                "} > $d/doctor.conf; systemctl daemon-reload; systemctl restart kubelet",
                "rm -f /run/systemd/system/kubelet.service.d/doctor.conf; systemctl daemon-reload; systemctl restart kubelet",
            ),
        ),
        "kube-pressure",
        within=120,
        slow=True,
        lingers=True,
    ),
    Plant(
        "addresses-exhausted",
        "K4",
        "a pool of two addresses, and three pods that want one of it",
        (
            Act(
                "master:0",
                f"echo '{_POOL}' | avadm-calicoctl apply -f - && for i in 0 1 2; do sed \"s/doctor-0/doctor-$i/\" <<'END' | "
                f"kubectl apply -f -\n{_addressed(0)}\nEND\ndone\n"
                + until("avadm-calicoctl ipam show | grep '10.99.99.0/31' | grep -q '2 (100%)'", 90),
                f"kubectl delete pod {_MANY} --ignore-not-found --now || true; for i in 1 2 3 4 5 6 7 8 9 10; do "
                "avadm-calicoctl ipam show | grep '10.99.99.0/31' | grep -q ' 0 (0%)' && break; sleep 2; done; "
                "avadm-calicoctl delete ippool doctor --skip-not-exists",
            ),
        ),
        "calico-addresses",
        where="cluster",
        slow=True,
        lingers=True,
    ),
    Plant(
        "bgp-down",
        "K4",
        "bird of a worker is halted",
        (Act("worker:-1", "pkill -STOP -x bird", "pkill -CONT -x bird || true"),),
        "calico-ready",
    ),
    Plant(
        "osd-down",
        "K5",
        "an OSD is stopped",
        (
            Act(
                "osd:-1",
                f"systemctl stop ceph-osd@$({_OSD})",
                f"systemctl start ceph-osd@$({_OSD})",
            ),
        ),
        "ceph-osd-down",
        where="on {}",
        slow=True,
    ),
    Plant(
        "osd-slow-stop",
        "K5",
        "the unit of an OSD has failed: its process was killed and may not start again",
        (
            Act(
                "osd:-1",
                f"id=$({_OSD}); mkdir -p /run/systemd/system/ceph-osd@$id.service.d; printf '[Service]\\nRestart=no\\n' > "
                "/run/systemd/system/ceph-osd@$id.service.d/doctor.conf; systemctl daemon-reload; "
                "systemctl kill -s KILL ceph-osd@$id; " + until("systemctl is-failed -q ceph-osd@$id", 20),
                f"id=$({_OSD}); rm -rf /run/systemd/system/ceph-osd@$id.service.d; systemctl "
                f"daemon-reload; systemctl reset-failed ceph-osd@$id "
                "|| true; systemctl start ceph-osd@$id",
            ),
        ),
        "units",
        slow=True,
    ),
    Plant(
        "slow-mds",
        "K6",
        "a client that keeps a file's capabilities is halted, and another one wants the file",
        (
            Act(
                "mon:0",
                "ceph config set mds mds_op_complaint_time 3",
                "ceph config rm mds mds_op_complaint_time",
            ),
            Act(
                "client:0",
                f'mkdir -p {HERE}; setsid python3 -c \'import time; f = open("/mnt/cephfs/avadm-doctor", "w"); '
                f'f.write("x" * 4096); f.flush(); '
                f"time.sleep(600)' </dev/null >/dev/null 2>&1 & echo $! > {HERE}/writer; sleep 3; pkill -STOP -x ceph-fuse",
                f"pkill -CONT -x ceph-fuse || true; [ ! -s {HERE}/writer ] || kill $(cat {HERE}/writer) || true; sleep 2; "
                f"rm -f {HERE}/writer /mnt/cephfs/avadm-doctor",
            ),
            Act(
                "client:-1",
                "setsid cat /mnt/cephfs/avadm-doctor </dev/null >/dev/null 2>&1 & sleep 1",
                "true",
            ),
        ),
        "ceph-mds-slow",
        where="mds.",
        status="warn",
        slow=True,
        lingers=True,
        within=55,
    ),
    Plant(
        "bad-superblock",
        "K7",
        "what is no file system is mounted, and the journal tells so",
        (
            Act(
                "worker:0",
                f"mkdir -p {HERE}/m && dd if=/dev/urandom of={HERE}/noise bs=1M count=4 2>/dev/null; "
                f"systemd-cat -t avadm-doctor mount -o loop -t ext4 {HERE}/noise {HERE}/m; true",
                f"umount -q {HERE}/m || true; rmdir {HERE}/m 2>/dev/null || true; rm -f {HERE}/noise",
            ),
        ),
        "log-superblock",
        lingers=True,
    ),
    Plant(
        "read-only",
        "K7",
        "a file system is mounted read-only",
        (Act("worker:0", _LOCKED, _UNLOCKED),),
        "disk-read-only",
        slow=True,
    ),
    Plant(
        "cephfs-gone",
        "K7",
        "cephfs is not mounted on a client",
        (Act("client:-1", "systemctl stop avadm-cephfs", "systemctl start avadm-cephfs"),),
        "cephfs-mount",
        slow=True,
    ),
    Plant(
        "uvm-missing",
        "K8",
        "unified memory's device is removed",
        (
            Act(
                "gpu:0",
                "mv /dev/nvidia-uvm /dev/nvidia-uvm.doctor",
                "[ ! -e /dev/nvidia-uvm.doctor ] || mv /dev/nvidia-uvm.doctor /dev/nvidia-uvm",
            ),
        ),
        "gpu-uvm",
    ),
    Plant(
        "deaf-shell",
        "K9",
        "a pod whose first process is a shell",
        _run("doctor-deaf", '["sh", "-c", "sleep 3600; true"]'),
        "pod-signals",
        where="default/doctor-deaf",
        status="warn",
    ),
    Plant(
        "watches-cut",
        "K10",
        "haproxy before the API ends connections that are silent for a minute",
        (
            # Over the file and not in it: the next run of avadm would see that somebody touched it.
            Act(
                "master:0",
                f"mkdir -p {HERE} && sed 's/timeout \\(client\\|server\\) .*/timeout \\1 60s/' {_PROXY} > {HERE}/haproxy.cfg "
                f"&& chmod 644 {HERE}/haproxy.cfg && mount --bind {HERE}/haproxy.cfg {_PROXY} && systemctl reload haproxy",
                f"umount {_PROXY} || true; systemctl reload haproxy; rm -f {HERE}/haproxy.cfg",
            ),
        ),
        "api-timeouts",
        status="warn",
    ),
    Plant(
        "made-again",
        "K11",
        "etcd's folder of snapshots holds one that is older than the cluster, as it does after a reset",
        (
            Act(
                "etcd:0",
                "mkdir -p /var/lib/etcd/snapshots && touch /var/lib/etcd/snapshots/20200101T000000Z.db",
                "rm -f /var/lib/etcd/snapshots/20200101T000000Z.db",
            ),
        ),
        "kube-reset",
    ),
    Plant(
        "loopback-missing",
        "K12",
        "the plug-in loopback is taken away",
        (
            Act(
                "worker:0",
                f"mkdir -p {HERE} && mv /opt/cni/bin/loopback {HERE}/loopback",
                f"[ ! -e {HERE}/loopback ] || mv {HERE}/loopback /opt/cni/bin/loopback",
            ),
        ),
        "cni-plugins",
    ),
    Plant(
        "dns-stopped",
        "",
        "CoreDNS is stopped on every node with the role dns",
        (Act("dns", "systemctl stop coredns", "systemctl start coredns"),),
        "dns",
        slow=True,
    ),
    Plant(
        "exporter-stopped",
        "",
        "the exporter of a node is stopped",
        (
            Act(
                "client:-1",
                "systemctl stop prometheus-node-exporter",
                "systemctl start prometheus-node-exporter",
            ),
        ),
        "prometheus-targets",
        where="",
        status="warn",
    ),
    Plant(
        "address-lost",
        "",
        "keepalived is stopped on all ingress nodes",
        (Act("ingress", "systemctl stop keepalived", "systemctl start keepalived"),),
        "virtual-address",
        where="ingress",
        slow=True,
    ),
    Plant(
        "image-missing",
        "",
        "a pod whose image is nowhere",
        (
            Act(
                "master:0",
                f"kubectl apply -f - <<'END'\n{_pod('doctor-image', 'avadm/nowhere:1', '[]')}\nEND",
                "kubectl delete pod doctor-image --ignore-not-found --now",
            ),
        ),
        "pods-images",
        where="default/doctor-image",
        status="warn",
    ),
    Plant(
        "webhook-gone",
        "",
        "the registration of avadm-admission is deleted",
        (
            Act(
                "master:0",
                "kubectl delete validatingwebhookconfiguration avadm-admission --ignore-not-found",
                "kubectl apply -f /etc/kubernetes/admission-webhook.yml",
            ),
        ),
        "admission-webhooks",
        where="cluster",
    ),
    *DATA_PLANTS,
    # The last: the cluster's log tells of it for half an hour.
    Plant(
        "osd-flapping",
        "K5",
        "an OSD is marked down three times, and comes up each time",
        (
            Act(
                "mon:0",
                "id=$(ceph osd ls | head -n 1); for i in 1 2 3; do ceph osd down $id; sleep 2; "
                + until('ceph osd dump | grep "^osd.$id up"', 30)
                + "; sleep 2; done",
                "true",
            ),
        ),
        "ceph-osd-flapping",
        where="osd.",
        status="warn",
        slow=True,
        lingers=True,
    ),
)
