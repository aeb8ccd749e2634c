"""Troubles of the object store, the cache and the logs, as troubles.py has those of all else."""

from tests.unit.doctor.healthy_data import (
    answer,
    backed,
    books,
    master,
    mount,
    platform,
    shipper,
    store,
    usage,
)
from tests.unit.doctor.troubles import Case, bad, each, parts, put, warn

REFUSED = "curl: (7) Failed to connect to 10.0.0.11 port 7443: Connection refused"
DEAD = answer(0, REFUSED)
STORES, MASTERS, CLIENTS = ("stor1", "stor2"), ("mast1", "mast2", "mast3"), ("comp1", "comp2")


def alone(page):
    """Return a change to a site with one master."""

    def change(data):
        for node in data["site"]["nodes"]:
            if node["name"] in ("mast2", "mast3"):
                node["roles"] = [r for r in node["roles"] if r != "cache-master"]
        parts(data, "mast1")["cache_master"] = page

    return change


def lacks(data):
    # One of them still remembers a name that the other has not seen.
    parts(data, "comp1")["cache_mount"] = mount(lacks=["s3", "old"])
    parts(data, "comp2")["cache_mount"] = mount(lacks=["s3"])


def namenodes(node, *deaf):
    """Return a change to what a node says of the namenodes: these do not answer it."""
    answers = {f"{name}.test:8020": "refused" if name in deaf else "" for name in ("nn1", "nn2")}
    return put(f"{node} cache_hdfs", {"/hdfs": answers})


def gateway(node, **values):
    return put(f"{node} objects", **values)


def leads(node, *page, **more):
    return put(f"{node} cache_master", master(0.0, *page, **more))


def mounted(*given, **values):
    return put("comp2 cache_mount", mount(*given, **values))


def kept(*given, node="comp1", **values):
    return put(f"{node} log_store", store(*given, **values))


def ships(node, *given, **values):
    return put(f"{node} log_shipper", shipper(*given, **values))


def backups(role="primary", wrong=(), **values):
    """Return a change to what a member of PostgreSQL tells of backups: the primary is comp1, the standby comp2."""
    return put(f"{'comp1' if role == 'primary' else 'comp2'} database_backup", backed(role, wrong, **values))


def runs(*, deployed=None, leases=None, **given):
    """Return a change to what the masters say of the platform."""
    found = platform(**given)
    found["deployed"] = found["deployed"] if deployed is None else deployed
    found["leases"][1] |= leases or {}
    return each(MASTERS, "ava", found)


def held(*, runs=None, over=None):
    """Return a change to what the masters say of pods' GPUs."""
    return each(MASTERS, "ava_runs", {"runs": runs or {}, "over": over or {}})


DRIFT = [["group vision", "gpu", 3, 2]]
UNCOUNTED = usage(age=None, timer=None)
NO_ROOM = {"Worker_CapacityTotal": 0.0}
DEAF = {"said": "http://10.0.0.21:19999/: Connection refused", "values": {}}
DATA_CASES = (
    bad("objects-gateway", "stor1", "Connection refused", gateway("stor1", gateway=DEAD)),
    bad("objects-gateway", "stor2", "HTTP 503", gateway("stor2", gateway=answer(503))),
    bad("objects-address", "stor1", "2 of 2 gateways answer at their own", gateway("stor1", address=DEAD)),
    bad(
        "objects-address", "stor2", "no gateway answers", each(STORES, "objects", gateway=DEAD, address=DEAD)
    ),
    warn("objects-quota", "user ai", "95 of 100 bytes, 95%", each(STORES, "objects", usage=usage(95.0))),
    Case(
        "objects-quota", "cluster", "has counted lately", each(STORES, "objects", usage=UNCOUNTED), "unknown"
    ),
    warn("objects-usage", "stor1", "40 minutes old", gateway("stor1", usage=usage(age=2400.0))),
    warn("objects-usage", "stor1", "none yet, and the timer does not run", gateway("stor1", usage=UNCOUNTED)),
    bad("cache-leader", "mast1", "none of 3 masters leads", each(MASTERS, "cache_master", master())),
    bad("cache-leader", "mast2", "Connection refused", each(MASTERS, "cache_master", DEAF)),
    warn("cache-leader", "mast3", "does not answer", put("mast3 cache_master", DEAF)),
    bad("cache-leader", "mast3", "mast2 and mast3 lead", leads("mast3", 2.0)),
    bad("cache-leader", "mast1", "the only master does not lead; mast1: http", alone(DEAF)),
    warn(
        "cache-workers",
        "cluster",
        "counts 1 worker, the site file has 2; 1 are lost",
        leads("mast2", 1.0, Cluster_LostWorkers=1.0),
    ),
    warn("cache-workers", "cluster", "counts 0 workers", alone(master(None, 0.0))),
    Case("cache-workers", "cluster", "no master leads", alone(DEAF), "unknown"),
    bad("cache-worker", "comp1", "refused", put("comp1 cache_worker", DEAF)),
    bad("cache-worker", "comp1", "no room", put("comp1 cache_worker", values=NO_ROOM)),
    bad("cache-mount", "comp2", "nothing is mounted", mounted("", lacks=None)),
    bad("cache-mount", "comp2", "fuse.ceph-fuse is mounted", mounted("fuse.ceph-fuse")),
    bad("cache-mount", "comp2", "not answer: in time", mounted(answers=False, said="in time", lacks=None)),
    bad("cache-mount", "comp2", "cannot be listed: x", mounted(said="x", lacks=None)),
    bad("cache-stores", "cluster", "no /s3,", lacks),
    Case(
        "cache-stores",
        "cluster",
        "no client could list",
        each(CLIENTS, "cache_mount", mount("", lacks=None)),
        "unknown",
    ),
    bad(
        "cache-hdfs",
        "comp1",
        "no namenode of /hdfs answers: nothing can be read",
        namenodes("comp1", "nn1", "nn2"),
    ),
    warn(
        "cache-hdfs",
        "mast1",
        "not all namenodes of /hdfs answer: nn2.test:8020: refused",
        namenodes("mast1", "nn2"),
    ),
    warn("ava-pods", "api", "1 of 2 pods", runs(api={"ready": 1})),
    bad("ava-pods", "scheduler", "none of 2 pods", runs(scheduler={"ready": 0})),
    bad("ava-pods", "operator", "not deployed", runs(deployed={"api": 2, "scheduler": 2, "gate": 2})),
    bad("ava-pods", "gate", "not deployed", runs(deployed={"api": 2, "scheduler": 2, "operator": 2})),
    bad("ava-pods", "jump", "none of 2 pods", runs(jump={"ready": 0})),
    warn("ava-pods", "operator", "restarted 7 times", runs(operator={"restarts": 7})),
    bad("ava-acts", "ava-operator", "no leader", runs(leases={"ava-operator": ["", 12]})),
    bad("ava-acts", "ava-scheduler", "no leader", runs(leases={"ava-scheduler": None})),
    bad("ava-acts", "ava-operator", "does not renew", runs(leases={"ava-operator": ["operator-1", 7]})),
    bad("ava-way-in", "ingress", "HTTP 502", runs(way=502)),
    bad(
        "ava-ledger", "group vision", "gpu: 3 in use, 2 charged", put("comp1 ava_ledger", books(drift=DRIFT))
    ),
    bad("ava-ledger", "comp1", "psql: no", put("comp1 ava_ledger", books(said="psql: no"))),
    bad("ava-gpus", "comp2", "9 GPUs given, it has 8", held(over={"comp2": [9, 8]})),
    bad("ava-gpus", "run r1", "hold 3 GPUs, it is charged for 2", held(runs={"r1": 3, "unknown": 4})),
    bad("ava-way-in", "ingress", "curl: (60)", runs(way=0, said="curl: (60) certificate")),
    warn("database-backup-look", "comp1", "for 60 minutes", backups(looked_timestamp_seconds=3600.0)),
    warn(
        "database-backup-look",
        "comp2",
        "not been checked",
        put("comp2 database_backup", {"values": {}, "wrong": []}),
    ),
    bad("database-backup", "cluster", "31 hours old", backups(backup_timestamp_seconds=31 * 3600.0)),
    bad("database-backup", "cluster", "there is none", backups(backups=0.0)),
    warn("database-backup", "cluster", "the last try failed", backups(backup_failed=1.0)),
    bad("database-archive", "cluster", "could not be archived", backups(archive_failing=1.0)),
    bad("database-archive", "cluster", "5.0 GiB of WAL wait", backups(archive_waiting_bytes=5 * 2.0**30)),
    bad("database-archive", "cluster", "was given up", backups(archive_dropped=1.0)),
    bad("database-archive", "cluster", "does not answer", backups(repository_answers=0.0)),
    bad(
        "database-verified",
        "comp2",
        "charges is missing",
        backups("standby", ["charges is missing"], verify_failed=1.0),
    ),
    warn(
        "database-verified",
        "cluster",
        "for 10 days",
        each(CLIENTS, "database_backup", backed(verified_timestamp_seconds=10 * 86400.0)),
    ),
    bad("logs-store", "comp1", "refused", kept(status=0, said=REFUSED)),
    bad("logs-store", "comp1", "HTTP 500", kept(status=500)),
    bad("logs-disk", "comp1", "takes no more", kept(400)),
    bad("logs-disk", "comp1", "takes no more", kept(read_only=1.0)),
    warn("logs-disk", "comp2", "900 MiB", kept(900, node="comp2")),
    warn("logs-watch", "comp2", "15 minutes old", kept(age=900.0, node="comp2")),
    bad("logs-shipper", "mast1", "inactive (dead)", ships("mast1", "inactive", None)),
    bad("logs-shipper", "mast1", "does not answer", ships("mast1", up=0.0)),
    warn("logs-lost", "stor3", "of 2.0 h ago it has lost 7 lines that comp1", ships("stor3", dropped=7.0)),
    warn("logs-lost", "stor3", "20000 lines wait", ships("stor3", waiting=2e4)),
    warn("logs-lost", "stor3", "10 minutes old", ships("stor3", age=600.0)),
)
