"""Troubles of the object store, the cache and the logs that are really made on the lab; a part of doctor_plants.py."""

from tests.controls.control import Act
from tests.controls.inject import Plant, until

_ASK = "curl -sf --noproxy '*' --max-time 10"
_PROPERTIES = "/etc/alluxio/alluxio-site.properties"
_MASTER = f"$(sed -n 's/^alluxio.master.hostname=//p' {_PROPERTIES}):19999/metrics/prometheus/"
_WORKER = f"$(sed -n 's/^alluxio.worker.hostname=//p' {_PROPERTIES}):29998/metrics/prometheus/"
# A worker that is back is taken from the lost ones when it has told the master so.
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
