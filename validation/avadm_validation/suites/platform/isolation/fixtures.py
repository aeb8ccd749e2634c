"""The node on which the attacks are made: what is put there for them to find, and the description they get."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.platform import platform_client

METADATA = "169.254.169.254"
LONGEST_S = 900
"""Seconds after which what was put there is gone, whatever becomes of us."""
# A file of the node's, and the address of a metadata service where the site has none; gone when the unit ends.
_PLANT = f"""
trap 'ip address del {METADATA}/32 dev lo 2>/dev/null; rm -f /MARK' EXIT
trap 'exit 0' TERM
touch /MARK
timeout 1 bash -c '</dev/tcp/{METADATA}/80' 2>/dev/null || {{
  ip address replace {METADATA}/32 dev lo
  timeout {LONGEST_S} python3 -m http.server 80 --bind {METADATA} &
  wait; exit
}}
sleep {LONGEST_S} & wait
"""
_THERE = f"[ -e /MARK ] && timeout 1 bash -c '</dev/tcp/{METADATA}/80' 2>/dev/null"
_READY = f"for i in $(seq 50); do {_THERE} && exit; sleep 0.2; done; false"
_PROBE = "hostname; pgrep -of MARK; lsblk -dnro MAJ:MIN,TYPE | awk '$2 == \"disk\" {print $1; exit}'"
KUBECTL = "kubectl --request-timeout=30s"


def ask(ctx: Context, words: str, name: str) -> tuple[str, Any]:
    """Return the raw file and the document of what Kubernetes says; MeasureError where it says nothing."""
    done = ctx.must(ctx.rec.run(platform_client.target(ctx).master, f"{KUBECTL} {words} -o json", name))
    return ctx.rec.save(f"{name}.json", done.stdout), json.loads(done.stdout)


@contextmanager
def planted(ctx: Context, node: str, mark: str, pod: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Have what the attacks are to find; yield what the node and Kubernetes tell of it, by the words of the list.

    Args:
        ctx: the check's view of the run.
        node: where the attacks are made.
        mark: the unit's name, and a word in all that is made.
        pod: the victim's, as Kubernetes tells of it.

    Raises:
        MeasureError: it could not be made.
    """
    master, space = platform_client.target(ctx).master, pod["metadata"]["namespace"]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": mark, "namespace": space},
        "spec": {
            "type": "NodePort",
            "selector": {"ava.io/run": pod["metadata"]["labels"]["ava.io/run"]},
            "ports": [{"port": 8000, "targetPort": 8000}],
        },
    }
    made = f"{KUBECTL} create -f - <<'END'\n{json.dumps(service)}\nEND"
    unit = f"systemd-run -q --unit={mark} bash -c {shlex.quote(_PLANT.replace('MARK', mark))}"
    try:
        ctx.must(ctx.rec.run(node, f"{unit} && {{ {_READY.replace('MARK', mark)}; }}", "planted"))
        ctx.must(ctx.rec.run(master, made, "node-port"))
        yield _probe(ctx, node, mark, space)
    finally:
        ctx.rec.run(node, f"systemctl stop {mark} 2>/dev/null; true", "taken-away")
        ctx.rec.run(master, f"{KUBECTL} delete service {mark} -n {space} --ignore-not-found", "taken-away")


def _probe(ctx: Context, node: str, mark: str, space: str) -> dict[str, object]:
    done = ctx.must(ctx.rec.run(node, _PROBE.replace("MARK", mark), "node"))
    try:
        hostname, pid, disk = done.stdout.split()
        major, minor = map(int, disk.split(":"))
    except ValueError as error:
        raise MeasureError(f"{node}: no name, process of the victim and disk: {done.stdout!r}") from error
    _, door = ask(ctx, f"get service {mark} -n {space}", "door")
    _, api = ask(ctx, "get service kubernetes -n default", "api")
    own = {
        p["metadata"]["labels"]["part"]: p for p in ask(ctx, "get pods -n ava-system", "parts")[1]["items"]
    }
    platform = platform_client.target(ctx)
    return {
        "hostname": hostname,
        "hostname_length": len(hostname),
        "victim_pid": int(pid),
        "disk_major": major,
        "disk_minor": minor,
        "node_port": door["spec"]["ports"][0]["nodePort"],
        "node_address": platform.addresses[node],
        "service": api["spec"]["clusterIP"],
        "api_pod": own["api"]["status"]["podIP"],
        "operator_pod": own["operator"]["status"]["podIP"],
        "operator": own["operator"]["metadata"]["name"],
        "ingress": platform.ingress,
        "master": platform.master,
        "mark": mark,
        "buffer": " " * 16,
    }
