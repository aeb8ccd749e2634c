"""Collects the facts that preflight needs: all, or those that are asked for."""

from __future__ import absolute_import

# Few modules: on each of hundreds of nodes an import costs more than what is done with it.
import os
import socket
import sys
import threading

from . import (
    boot,
    clocks,
    disks,
    hardware,
    hosts,
    identity,
    latency,
    memory,
    nics,
    os_release,
    packages,
    packet_filter,
    ports,
    resolution,
    sources,
    space,
    swap,
)
from .system import call, slurp

WAITS = ("resolution", "peers", "time_sources", "package_sources", "registries")


def proof(given):
    """What the role that makes OSDs will say of each approved device: its own code is asked."""
    if not given:
        return []
    from ..disks import report

    return report.approved(given)


def collect(params):
    """Return the facts that are wanted; one that is not available is None, and ``errors`` has the reason.

    Args:
        params: packages, proxy (may hold a password), sources, keys, devices, ports, own, names, peers, ssh_port, time,
            registries, internet_proxy, proxied_registries, proof, only.
    """
    folder = call("mktemp", "-d")[1].strip() if params["sources"] or params["keys"] else None
    try:
        return facts(params, packages.apt_options(params["proxy"], params["sources"], folder, params["keys"]))
    finally:
        if folder:
            call("rm", "-rf", folder)


def facts(params, options):
    """Return the facts that are wanted; ``options`` are apt's."""
    jobs = {
        "os": os_release.release,
        "boot": boot.boot,
        "hostname": socket.gethostname,
        "addresses": identity.addresses,
        "memory": memory.memory,
        "swap": swap.swap,
        "space": space.space,
        "inodes": space.inodes,
        "hosts": hosts.hosts,
        "listening": lambda: ports.listening(set(params["ports"])),
        "devices": lambda: disks.devices(params["devices"]),
        "proof": lambda: proof(params["proof"]),
        "packages": lambda: packages.packages(params["packages"], options),
        "python": lambda: sys.version.split()[0],
        "cpus": lambda: os.sysconf("SC_NPROCESSORS_ONLN"),
        "drives": hardware.drives,
        "machine_id": lambda: slurp("/etc/machine-id") or "",
        "nics": lambda: nics.nics(params["own"]),
        "links": hardware.interfaces,
        "resolution": lambda: resolution.resolution(params["names"], params["own"][0]),
        "peers": lambda: latency.peers(params["peers"], params["ssh_port"]),
        "filters": lambda: packet_filter.filters(call),
        "time_sources": lambda: clocks.time_sources(params["time"]),
        "package_sources": lambda: sources.package_sources(call, params["proxy"], options),
        "registries": lambda: sources.registries(
            params["registries"], params["internet_proxy"], params["proxied_registries"]
        ),
    }
    found, errors = {}, {}

    def take(name, job):
        try:
            found[name] = job()
        except Exception as error:
            found[name] = None
            errors[name] = "%s: %s" % (type(error).__name__, error)

    wanted = [n for n in jobs if params["only"] is None or n in params["only"]]
    # What waits for others waits at the same time; the rest goes one by one, or threads would fight for the CPU.
    waiting = [threading.Thread(target=take, args=(n, jobs[n])) for n in wanted if n in WAITS]
    for thread in waiting:
        thread.start()
    for name in wanted:
        if name not in WAITS:
            take(name, jobs[name])
    for thread in waiting:
        thread.join()
    found["errors"] = errors
    return found
