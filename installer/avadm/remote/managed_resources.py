"""What a task's result shows that it keeps on a node: files, units, packages, pools … as items of one line.

An item is ``KIND NAME``. The probe (avadm_node/probes/drift) gives each item its value as it is now; the
engine keeps these values and compares them later. A task whose kind is not known here gives ``unproven TASK``, so
that no one takes its phase for proven.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

UNPROVEN = "unproven"
BOOTSTRAPPED = "founded"
"""Kind of the items that also go into the state (state/bootstrap_marks.py)."""
Args = Mapping[str, Any]

# Tasks that only look or steer. `command` and `uri` are among them while they report no change: a unit test holds
# the roles to that.
LOOKING = frozenset(
    {
        *("assert", "debug", "fail", "meta", "pause", "set_fact", "set_stats", "validate_argument_spec"),
        *("import_role", "import_tasks", "include_role", "include_tasks", "include_vars"),
        *(
            "gather_facts",
            "getent",
            "ping",
            "service_facts",
            "setup",
            "stat",
            "wait_for",
            "wait_for_connection",
        ),
        *("command", "script", "shell", "uri"),
        *("avadm_ceph_wait", "avadm_disk", "avadm_kube_node", "avadm_private_mounts"),
        *("avadm_alluxio_sizes", "avadm_ask", "avadm_etcd_peers", "avadm_kube_ready"),
    }
)


def manages(action: str, task: str, res: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the items that a good result stands for.

    Args:
        action: the module's name as Ansible resolved it.
        task: ``role : task``, for what cannot be proven.
        res: the result, with those of a loop's rounds under ``results``.
    """
    name = action.rpartition(".")[2]
    rounds = [r for r in res.get("results", []) if isinstance(r, Mapping)] or [res]
    found: dict[str, None] = {}
    for one in rounds:
        # `is True`: a module may name something else under this key.
        if one.get("skipped") is True:
            continue
        found.update(dict.fromkeys(_items(name, task, one)))
    return tuple(found)


def _items(name: str, task: str, res: Mapping[str, Any]) -> Iterator[str]:
    args = (res.get("invocation") or {}).get("module_args") or {}
    if name == "avadm_ceph_wait" and args.get("until") == "health":
        yield f"health {args.get('osds') or 0} {','.join(sorted(args.get('tolerate') or []))}".rstrip()
    elif name == "command" and (path := _statfs(args)):
        yield f"mount {path}"
    elif name in LOOKING:
        if res.get("changed"):
            yield f"{UNPROVEN} {task}"
    elif name in ("copy", "template", "file"):
        path = res.get("dest") or res.get("path")
        if path and "censored" not in res:
            yield f"{'absent' if args.get('state') == 'absent' else 'file'} {path}"
        else:
            yield f"{UNPROVEN} {task}"
    elif name == "avadm_service" and args:
        yield from _service(args, res)
    elif name in _KINDS and args:
        yield from _KINDS[name](args)
        if isinstance(mark := res.get("bootstrapped"), Mapping):
            yield f"{BOOTSTRAPPED} {mark['name']} {mark['identity']}"
    else:
        yield f"{UNPROVEN} {task}"


def _statfs(args: Args) -> str | None:
    """Return the path of a ``stat --file-system PATH``, which asks whether a file system is mounted and answers."""
    argv = [str(word) for word in args.get("argv") or []]
    return argv[-1] if "stat" in argv and "--file-system" in argv else None


def _files(args: Args) -> Iterator[str]:
    for one in args["files"]:
        yield f"{'absent' if one.get('state') == 'absent' else 'file'} {one['path']}"


def _drop_in(args: Args) -> list[str]:
    """Return the file of our settings of a unit, where there are any."""
    name = args["name"]
    whole = name if name.endswith((".service", ".timer")) else f"{name}.service"
    return [f"/etc/systemd/system/{whole}.d/avadm.conf"] if args.get("settings") is not None else []


def _service(args: Args, res: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"package {name}" for name in args.get("packages") or [])
    if args.get("user"):
        yield f"login {args['user']['name']}"
    for folder in args.get("folders") or []:
        yield f"file {folder['path']}"
    yield from _files({"files": args.get("files") or []})
    if not args.get("name"):
        return
    if args.get("state") == "stopped":
        yield f"stopped {args['name']}"
        return
    yield f"unit {args['name']}"
    drop_in = _drop_in(args)
    yield from (f"file {path}" for path in drop_in)
    for unit, kind, path in [*res["keeps"], *([args["name"], "restart", path] for path in drop_in)]:
        yield from [f"unit {unit}", f"file {path}", f"{kind} {unit} {path}"]


def _daemon(args: Args) -> Iterator[str]:
    name = args["name"]
    if args.get("state") == "stopped":
        yield f"stopped {name}"
        return
    yield f"unit {name}"
    restart = [*(args.get("restart_on") or []), *_drop_in(args)]
    for kind, paths in (("restart", restart), ("reload", args.get("reload_on") or [])):
        for path in paths:
            yield f"file {path}"
            yield f"{kind} {name} {path}"


def _filter(args: Args) -> Iterator[str]:
    absent = args.get("state") == "absent"
    yield f"{'absent' if absent else 'file'} /etc/avadm/packet-filter.nft"
    if not absent:
        yield "filter /usr/local/sbin/avadm-packet-filter"


def _pools(args: Args) -> Iterator[str]:
    yield f"rule {args['rule']['name']}"
    for pool in args["pools"]:
        yield f"pool {pool['name']}"


def _settings(args: Args) -> Iterator[str]:
    for section, options in sorted((args.get("config") or {}).items()):
        for option in sorted(options or {}):
            yield f"setting {section} {option}"


def _libraries(args: Args) -> Iterator[str]:
    yield f"file {args['path']}"
    for name in args["needed"]:
        of_library = any(str(name).startswith(prefix) for prefix in args["libraries"])
        yield f"file {args['path']}/{'lib64' if of_library else 'bin'}/{name}"


def _buckets(args: Args) -> Iterator[str]:
    for bucket in args["buckets"]:
        # A store that others run (`connect` is empty) cannot be asked without keys, which no item holds.
        yield f"s3bucket {bucket['name']}" if args.get("connect") else f"{UNPROVEN} bucket {bucket['name']}"


_KINDS: dict[str, Callable[[Args], Iterator[str]]] = {
    "avadm_files": _files,
    "avadm_artifact": _files,
    "avadm_ceph_keyring": _files,
    "user": lambda args: iter([f"login {args['name']}"]),
    "avadm_daemon": _daemon,
    "avadm_packet_filter": _filter,
    "avadm_package": lambda args: (f"package {name}" for name in args["name"]),
    "avadm_sysctl": lambda args: iter(
        [f"file {args['path']}", *(f"sysctl {name}" for name in sorted(args["values"]))]
    ),
    "avadm_kernel_modules": lambda args: iter(
        [f"file {args['path']}", *(f"kmod {name}" for name in args["names"])]
    ),
    "avadm_swap_off": lambda args: iter(["swap"]),
    # Unit and files are managed by the task that writes them.
    "avadm_remount": lambda args: iter([]),
    "avadm_ceph_pool": _pools,
    "avadm_ceph_auth": lambda args: (f"entity {one['entity']}" for one in args["entities"]),
    "avadm_ceph_s3": lambda args: (f"s3user {user['name']}" for user in args["users"]),
    "avadm_s3_bucket": _buckets,
    "avadm_ceph_fs": lambda args: iter([f"fs {args['name']}"]),
    # That they are gone, the absence of its files shows.
    "avadm_ceph_backfill": lambda args: iter(()),
    "avadm_ceph_mgr_module": lambda args: iter(["mgr modules"]),
    "avadm_ceph_mon_store": lambda args: iter(["mon " + args["name"]]),
    "avadm_kube_objects": lambda args: iter([f"objects {args['path']}"]),
    # By hand alone (playbooks/ava-remove.yml): no phase keeps anything by it.
    "avadm_kube_absent": lambda args: iter(()),
    "avadm_registry_image": lambda args: iter(
        [f"pushed {args['certificates']} {args['registry']}/{args.get('as_name') or args['name']}"]
    ),
    "avadm_alternative": lambda args: iter([f"alternative {args['name']}"]),
    "avadm_derived": lambda args: iter([f"file {args['path']}", f"file {args['path']}.of"]),
    "avadm_etcd_access": lambda args: iter(["access etcd"]),
    "avadm_postgresql": lambda args: iter([f"postgresql {args['port']}"]),
    # What it did lies in the past; that a member waits again is reported by its own settings.
    "avadm_patroni_restart": lambda args: iter(()),
    # That the repository is there, its nodes' files cannot say; the doctor and its alerts do.
    "avadm_pgbackrest": lambda args: iter(()),
    "avadm_patroni": lambda args: iter([f"patroni {args['url']}"]),
    "avadm_database_member": lambda args: iter([f"file {args['data_dir']}/PG_VERSION"]),
    "avadm_calico_pool": lambda args: iter([f"ippool {args['name']}"]),
    "avadm_gpu_libraries": _libraries,
    "avadm_calico_routes": lambda args: iter(["routes calico"]),
    # Set through a master, and looked at on the node, which may read its own.
    "avadm_kube_labels": lambda args: iter([f"labels /etc/kubernetes/kubelet.kubeconfig {args['name']}"]),
    "avadm_docker_image": lambda args: iter([f"image {args['name']}"]),
    # Its data: a member that has none any more is not what was left behind.
    "avadm_etcd_member": lambda args: iter([f"file {args['data_dir']}/member"]),
    # What they return as `bootstrapped`.
    "avadm_etcd_bootstrap_mark": lambda args: iter([f"absent {args['file']}"]),
    "avadm_bootstrap_mark": lambda args: iter([f"file {args['data']}"]),
    "avadm_ceph_osd": lambda args: iter(["osds", "crush tree", "config dump"]),
    "avadm_ceph_settings": _settings,
    "avadm_unpack": lambda args: iter([f"file {args['path']}/.avadm-archive"]),
    "avadm_alluxio_journal": lambda args: iter([f"file {args['path']}"]),
    # What is mounted no node can say alone; that it was, and with which options, is kept here.
    "avadm_alluxio_mounts": lambda args: iter([f"file {args['state']}"]),
}

CLUSTER = frozenset(
    {"health", "pool", "rule", "entity", "fs", "mgr", "crush", "config", "s3user", "s3bucket"}
)
"""Kinds that belong to the cluster and not to a node; any one monitor node is asked for them."""


def kind(item: str) -> str:
    """Return the kind of an item."""
    return item.partition(" ")[0]


def readable(item: str) -> str:
    """Return an item for people."""
    what, _, rest = item.partition(" ")
    if what in ("restart", "reload"):
        unit, _, path = rest.partition(" ")
        return f"{unit}: {what} for {path}"
    return item if what not in ("crush", "config", "mgr") else json.dumps(item).strip('"')
