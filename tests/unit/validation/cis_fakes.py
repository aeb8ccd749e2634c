"""A node that keeps to every control of the CIS suite, as tools/cisread.py tells of it; made from the controls."""

import json

from acceptance_fakes import FakeFleet

from avadm_validation.measuring.targets import KubeTarget, Target
from avadm_validation.suites.cis.controls import controls
from avadm_validation.suites.cis.extract import paths

ASKED = "python3 - '["
MASTERS, WORKERS = ("m1", "m2"), ("w1",)
NODES = MASTERS + WORKERS


def good_node():
    """Return what a good node tells, every process on it."""
    flags = {}
    for c in controls().values():
        for flag in c.flags:
            values = flags.setdefault((c.process, flag), [])
            if c.gate:
                values += [f"{c.gate}={c.value}"]
            elif c.rule == "set" and not values:
                values += ["/x"]
            elif c.rule in ("is", "at-least", "has"):
                values += [c.value]
            elif c.rule == "lacks":
                values += ["RBAC"]
        for name in c.files:
            if name.startswith("FLAG:"):
                _, process, flag = name.split(":")
                flags[process, flag] = [f"/{process}/{flag}"]
    processes = {}
    for (process, flag), values in flags.items():
        if values:
            processes.setdefault(process, {"argv": []})["argv"].append(f"--{flag}={','.join(values)}")
    processes["etcd"] |= {
        "argv": ["etcd"],
        "environment": {
            "ETCD_" + w[2:].partition("=")[0].upper().replace("-", "_"): w.partition("=")[2]
            for w in processes["etcd"]["argv"]
        },
    }
    doc = {
        "processes": processes,
        "units": {"etcd": "/lib/etcd.service"},
        "files": {},
        "encryption": ["aescbc", "identity"],
    }
    for c in controls().values():
        for path in paths(c, doc):
            owner = ("etcd", "etcd") if path == "/etcd/data-dir" else ("root", "root")
            doc["files"][path.replace("*", "10-x.conflist")] = {
                "mode": "600",
                "user": owner[0],
                "group": owner[1],
            }
    doc["files"]["/etcd/data-dir"]["mode"] = "700"
    return doc


def argument(doc, process, flag, change):
    """Change an argument's value (None: take it away), wherever it is set."""
    part = doc["processes"][process]
    environment = part.get("environment")
    if environment is not None:
        name = "ETCD_" + flag.upper().replace("-", "_")
        value = change(environment.pop(name, None))
        environment.update({} if value is None else {name: value})
        return
    old = next((w for w in part["argv"] if w.startswith(f"--{flag}=")), None)
    value = change(old.partition("=")[2] if old else None)
    part["argv"] = [w for w in part["argv"] if w != old] + ([] if value is None else [f"--{flag}={value}"])


def other(value):
    """Return a value that is not the one wanted."""
    return {"true": "false", "false": "true", "0": "10"}[value]


def break_control(doc, control):
    """Make a good node break one control."""
    if control.encryption:
        doc["encryption"].reverse()
    elif control.files:
        entry = doc["files"][paths(control, doc)[0]]
        entry.update({"mode": "666"} if control.mode else {"user": "nobody"})
    elif control.gate:
        wrong = f"{control.gate}={other(control.value)}"
        argument(doc, control.process, control.flags[0], lambda v: f"{v or ''},{wrong}".strip(","))
    else:
        changes = {
            "is": lambda v: None if control.unset == "bad" else other(control.value),
            "nonzero": lambda v: "0",
            "set": lambda v: None,
            "unset": lambda v: "/x",
            "has": lambda v: ",".join(w for w in v.split(",") if w != control.value) or "Other",
            "lacks": lambda v: f"{v},{control.value}",
            "at-least": lambda v: str(int(control.value) - 1),
        }
        argument(doc, control.process, control.flags[-1], changes[control.rule])


class Cluster:
    """Two masters with etcd and a worker, all good."""

    def __init__(self):
        self.docs = {node: good_node() for node in NODES}

    def fleet(self):
        """Return a fleet that tells of them."""
        return FakeFleet({ASKED: lambda node, _: json.dumps(self.docs[node])})

    def target(self):
        """Return what is measured."""
        kube = KubeTarget("m1", NODES, "v1.9.11", "", "x.test", {}, masters=MASTERS, etcd=MASTERS)
        return Target("s", "p", "lab", ("w1",), "m1", NODES, kube=kube)
