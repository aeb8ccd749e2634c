"""Gives Services of the type LoadBalancer their addresses, out of a range of the site.

keepalived holds the addresses on one of the ingress nodes, whose kube-proxy leads what comes there to the pods. This
program only says which address is whose, in the Service's status. It runs on each ingress node: the first acts at once,
each further one on what has waited longer. What an address is given to follows from the Services alone, a change is
refused where the Service has changed meanwhile, and of two with one address the older keeps it: so it does no harm that
several act. Python 3.5 or later, without further libraries.
"""

import argparse
import threading
import time
from ipaddress import IPv4Address

from ..kubeapi import Api, ApiError

PATH = "/api/v1/services"
SOURCE = "avadm.io/load-balancer"
TURN_S = 5
"""Seconds that each further node leaves to those before it."""
WATCH_S = 50
OPTIONS = {
    "server": "URL of Kubernetes' API",
    "authority": "file with the certificate of its authority",
    "certificate": "file with the client's certificate",
    "key": "file with the client's private key",
    "first": "first address of the range",
    "last": "last address of the range",
    "turn": "0 acts at once, each further one 5 s later",
}


def name_of(service):
    """Return NAMESPACE/NAME."""
    return "%s/%s" % (service["metadata"]["namespace"], service["metadata"]["name"])


def given(service):
    """Return the addresses in a Service's status."""
    listed = service.get("status", {}).get("loadBalancer", {}).get("ingress") or []
    return [one.get("ip", "") for one in listed]


def wants(service):
    """Tell whether a Service is to have an address."""
    return service["spec"].get("type") == "LoadBalancer" and not service["metadata"].get("deletionTimestamp")


def is_readable(service):
    """Tell whether a Service has what is looked at here: what one tenant writes must not keep the others waiting."""
    try:
        name_of(service), given(service), wants(service), refusal(service)
        return all(isinstance(service["metadata"][key], str) for key in ("creationTimestamp", "uid"))
    except (AttributeError, KeyError, TypeError):
        return False


def assign(services, pool):
    """Return what is to be changed, and what cannot be: ({name: address, "" for none}, {name: reason}).

    Args:
        services: all Services of the cluster. One that cannot be read is left out.
        pool: the range's addresses, in order.
    """
    services = [one for one in services if is_readable(one)]
    ordered = sorted(services, key=lambda s: (s["metadata"]["creationTimestamp"], s["metadata"]["uid"]))
    asking = [s for s in ordered if wants(s)]
    held, changes, reasons = {}, {}, {}
    for service in asking:
        now, asked = given(service), service["spec"].get("loadBalancerIP") or None
        keeps = len(now) == 1 and now[0] in pool and now[0] not in held and asked in (None, now[0])
        if keeps and not refusal(service):
            held[now[0]] = name_of(service)
    kept = set(held.values())
    for service in asking:
        name, asked = name_of(service), service["spec"].get("loadBalancerIP")
        if name in kept:
            continue
        free = [a for a in ([asked] if asked else pool) if a in pool and a not in held]
        reason = refusal(service) or ("" if free else lack(asked, pool, held))
        if not reason:
            held[free[0]] = name
            changes[name] = free[0]
            continue
        reasons[name] = reason
        if given(service):
            changes[name] = ""
    for service in ordered:
        # No one else takes an address away when a Service becomes one of another type.
        if service["spec"].get("type") != "LoadBalancer" and set(given(service)) & set(pool):
            changes[name_of(service)] = ""
    return changes, reasons


def refusal(service):
    """Return why a Service cannot be served whatever its address, "" where it can."""
    if service["spec"].get("externalTrafficPolicy") == "Local":
        return "externalTrafficPolicy Local cannot be served: all addresses are at one node; use Cluster"
    return ""


def lack(asked, pool, held):
    """Return why there is no address to give."""
    if asked and asked not in pool:
        return "loadBalancerIP %s is not one of %s to %s" % (asked, pool[0], pool[-1])
    if asked:
        return "loadBalancerIP %s is held by %s" % (asked, held[asked])
    return "all %d addresses, %s to %s, are given" % (len(pool), pool[0], pool[-1])


class Services:
    """All Services of the cluster: listed once, then followed.

    Args:
        api: call(method, path, body), watch(path, since, seconds).
        changed: event that is set with each change.
        log: callable(text).
    """

    def __init__(self, api, changed, log=print):
        self.api, self.changed, self.log = api, changed, log
        self.found, self.lock = None, threading.Lock()

    def all(self):
        """Return them; None while they are not known yet."""
        with self.lock:
            return None if self.found is None else list(self.found.values())

    def follow(self):
        """Keep them up to date until the API cannot be asked or has lost count; ApiError says why."""
        listed = self.api.call("GET", PATH)
        with self.lock:
            self.found = {name_of(s): s for s in listed.get("items") or []}
        version = listed["metadata"]["resourceVersion"]
        self.changed.set()
        while True:
            for change in self.api.watch(PATH, version, WATCH_S):
                version = self.take(change)

    def take(self, change):
        """Take one change over; return its version."""
        one = change["object"]
        if change["type"] == "ERROR":
            raise ApiError(one.get("code", 0), "a watch ended: %s" % one.get("message"))
        with self.lock:
            if change["type"] == "DELETED":
                self.found.pop(name_of(one), None)
            else:
                self.found[name_of(one)] = one
        self.changed.set()
        return one["metadata"]["resourceVersion"]

    def run(self):
        """Follow them for ever."""
        while True:
            try:
                self.follow()
            except Exception as error:
                # 410: the version is too old to continue from; the list is read again.
                if getattr(error, "status", None) != 410:
                    self.log("%s: %s" % (PATH, error))
            time.sleep(1)


class Balancer:
    """Brings what `assign` says into the Services' status.

    Args:
        api: call(method, path, body).
        services: callable, all Services or None.
        pool: the range's addresses.
        turn: 0 acts at once, each further one 5 s later.
        clock: seconds.
        log: callable(text).
    """

    def __init__(self, api, services, pool, turn, clock=time.monotonic, log=print):
        self.api, self.services, self.pool, self.clock, self.log = api, services, pool, clock, log
        self.wait = turn * TURN_S
        self.seen, self.reported = {}, {}

    def round(self):
        """Do what is to be done; return after how many seconds to look again, None for not before a change."""
        services = self.services()
        if services is None:
            return TURN_S
        by_name = {name_of(s): s for s in services}
        changes, reasons = assign(services, self.pool)
        now = self.clock()
        self.seen = {name: self.seen.get(name, now) for name in {**changes, **reasons}}
        self.reported = {name: text for name, text in self.reported.items() if name in reasons}
        due = [name for name in sorted(self.seen) if now - self.seen[name] >= self.wait]
        for name in due:
            try:
                if name in reasons and self.reported.get(name) != reasons[name]:
                    self.reported[name] = reasons[name]
                    self.log("%s: %s" % (name, reasons[name]))
                    self.event(by_name[name], reasons[name])
                if name in changes:
                    self.give(by_name[name], changes[name])
            except Exception as error:
                # What one Service has must not keep the others from their addresses.
                self.log("%s: %s: %s" % (name, type(error).__name__, error))
        return TURN_S if changes else None

    def give(self, service, address):
        """Write a Service's address, unless the Service has changed since it was seen."""
        meta = service["metadata"]
        path = "/api/v1/namespaces/%s/services/%s/status" % (meta["namespace"], meta["name"])
        status = {"loadBalancer": {"ingress": [{"ip": address}] if address else None}}
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        try:
            self.api.call("PATCH", path, body)
        except ApiError as error:
            if error.status not in (404, 409):
                self.log("%s: %s" % (name_of(service), error))
            return
        self.log("%s: %s" % (name_of(service), address or "its address is taken back"))

    def event(self, service, text):
        """Tell those who look at the Service; a failure to tell changes nothing."""
        meta = service["metadata"]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        about = {"kind": "Service", "apiVersion": "v1"}
        about.update({key: meta[key] for key in ("namespace", "name", "uid")})
        event = {
            "metadata": {"generateName": "load-balancer-", "namespace": meta["namespace"]},
            "involvedObject": about,
            "type": "Warning",
            "reason": "NoAddress",
            "message": text,
            "source": {"component": SOURCE},
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        try:
            self.api.call("POST", "/api/v1/namespaces/%s/events" % meta["namespace"], event)
        except ApiError as error:
            self.log("an event could not be reported: %s" % error)


def main():
    """Run until stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, about in OPTIONS.items():
        parser.add_argument("--" + name, required=True, type=int if name == "turn" else str, help=about)
    config = vars(parser.parse_args())
    ends = [int(IPv4Address(config[key])) for key in ("first", "last")]
    pool = [str(IPv4Address(n)) for n in range(ends[0], ends[1] + 1)]

    def log(text):
        print(text, flush=True)

    api, changed = Api(config), threading.Event()
    services = Services(api, changed, log)
    threading.Thread(target=services.run, daemon=True).start()
    balancer = Balancer(api, services.all, pool, config["turn"], log=log)
    while True:
        changed.clear()
        try:
            pause = balancer.round()
        except Exception as error:
            log("%s: %s" % (type(error).__name__, error))
            pause = TURN_S
        changed.wait(pause)
        # What is asked for together is served in one round.
        time.sleep(0.1)
