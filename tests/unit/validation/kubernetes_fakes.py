"""A cluster without nodes: it answers what the Kubernetes suite asks on its master and in its pods."""

import json
import shlex

from acceptance_fakes import FakeFleet
from limit_fakes import AMOUNTS, KEPT, FakeApi
from volume_fakes import FakeVolumes

from avadm_validation.measuring.targets import KubeTarget, Target

NODES = ("n0", "n1", "n2")
VERSION = "v1.9.11"
SERVICE = "10.1.0.7"
VIP = "10.2.0.251"
BALANCED = ("10.2.0.252", "10.2.0.254")
GUARDED = "10.0.8.8"


class FakeCluster:
    """A good cluster; its attributes are what faults change."""

    def __init__(self):
        self.api_version = VERSION
        self.kubelets = dict.fromkeys(NODES, VERSION)
        self.not_ready, self.cut, self.no_endpoint = set(), set(), set()
        self.ips = {n: f"10.0.{i}.2" for i, n in enumerate(NODES)}
        self.starts = [1.0 + i / 100 for i in range(20)]
        self.names = {"echo": [SERVICE], "heads": list(self.ips.values()), "n2": ["10.2.0.12"]}
        self.wildcard = self.any_host = False
        self.absent_site = 3  # NXDOMAIN
        self.enforced = self.label_opens = self.guarded = True
        self.given, self.service_there = [BALANCED[0]], False
        self.upgrades = True
        self.stays_open, self.leaks, self.stream_pods = 5, set(), ["stream-0", "stream-1"]
        self.closed = self.opened = self.closed_back = False
        self.enforced_back = True
        self.cards, self.opens, self.gpu_phase = (
            {"gpus": [0, 1], "one": [2], "none": [], "old": []},
            {},
            "Succeeded",
        )
        self.writes, self.gets, self.lists = [0.01] * 300, [0.01] * 100, [0.01] * 100
        self.api_errors = []
        self.hog = {"terminated": {"reason": "OOMKilled"}}
        self.oom = ""
        self.neighbour = {"running": {}}
        self.digest = "registry.x:5000/avadm/base@sha256:abc"
        self.volumes, self.limits = FakeVolumes(), FakeApi()

    def target(self, **changes):
        kube = {
            "master": "n0",
            "nodes": NODES,
            "version": VERSION,
            "image": "registry.x:5000/avadm/base:12",
            "domain": "x.test",
            "addresses": {"n2": "10.2.0.12"},
            "ingress": VIP,
            "balancer": BALANCED,
            "outside": "stor1",
            "gpu_nodes": ("n2",),
            "classes": ("cephfs", "rbd", "local"),
            "default_class": "cephfs",
            "mounters": ("n1", "n2"),
            "kubelet": KEPT,
            **changes,
        }
        return Target("s", "p", "lab", ("n1",), "stor1", (*NODES, "stor1"), kube=KubeTarget(**kube))

    def fleet(self):
        reply = json.dumps
        return FakeFleet(
            {
                "kubectl apply": self.apply,
                "kubectl delete namespace": "",
                **self.volumes.answers(),
                "kubelimits.py": self.limits.run,
                "delete service -n avadm-accept outside": self.delete,
                "get service -n avadm-accept outside": lambda n, c: reply(
                    {"status": {"loadBalancer": {"ingress": [{"ip": a} for a in self.given]}}}
                ),
                "get deployment -n avadm-accept stream": reply({"status": {"readyReplicas": 2}}),
                "app=stream": lambda n, c: reply(
                    {"items": [self.streamer(p) for p in ("stream-0", "stream-1")]}
                ),
                "kubestream.py ask": lambda n, c: self.streams(json.loads(shlex.split(c)[-1])),
                "delete networkpolicy -n avadm-accept closed": self.open_again,
                " label --overwrite": self.label,
                "version -o json": lambda n, c: reply({"serverVersion": {"gitVersion": self.api_version}}),
                "RepoDigests": lambda n, c: reply([self.digest] if self.digest else []),
                "docker image": '{"id":"x"}\n',
                "get serviceaccount": '{"x": 1}',
                "get nodes": lambda n, c: reply({"items": [self.node(x) for x in NODES]}),
                "get pod -n avadm-accept-other guarded": lambda n, c: reply(
                    {
                        "spec": {"nodeName": "n1"},
                        "status": {"podIP": GUARDED, "containerStatuses": [{"ready": True}]},
                    }
                ),
                "app in (memory,echo)": lambda n, c: reply({"items": [*self.pods(), self.memory()]}),
                "get pod -n avadm-accept memory": lambda n, c: reply(self.memory()),
                "app=gpu": lambda n, c: reply({"items": [self.gpu_pod(p) for p in self.cards]}),
                "app=echo": lambda n, c: reply({"items": self.pods()}),
                "get service": reply({"spec": {"clusterIP": SERVICE}}),
                "kubeload.py starts": lambda n, c: reply(
                    {"starts": [{"running_s": s} for s in self.starts], "refused": [], "limit_s": 300.0}
                ),
                "kubeload.py api": lambda n, c: reply(
                    {
                        "seconds": {"write": self.writes, "get": self.gets, "list": self.lists},
                        "errors": self.api_errors,
                    }
                ),
                "kubectl logs": lambda n, c: "".join(map(self.look, self.cards)),
                "logs -n avadm-accept memory": '{"node": "n1", "pod": "memory", "worst_gap_s": 0.02}\n',
                "dmesg": lambda n, c: self.oom,
                "kubectl exec": self.inside,
                "kubeagent.py ask": lambda n, c: self.answers("stor1", json.loads(shlex.split(c)[-1])),
            }
        )

    def apply(self, node, command):
        self.volumes.apply(command)
        self.service_there = self.service_there or ('"LoadBalancer"' in command and bool(self.given))
        if '"NetworkPolicy"' in command:
            self.closed, self.opened = True, "namespaceSelector" in command
            self.closed_back = True
        return ""

    def delete(self, node, command):
        self.service_there = False
        return ""

    def streamer(self, name):
        return {"metadata": {"name": name}, "status": {"containerStatuses": [{"ready": True}]}}

    def streams(self, jobs):
        done = [self.stream(j, i) for j in jobs for i in range(j.get("times", 1))]
        return json.dumps({"node": "stor1", "pod": "", "streams": done}) + "\n"

    def stream(self, job, i):
        if job["kind"] == "websocket":
            good, there = self.upgrades, True
        else:
            good, there = True, (self.service_there if job["port"] == 22 else job["port"] in self.leaks)
        echoed = min(self.stays_open, job.get("messages", 3)) if there and good else 0
        pod = self.stream_pods[i % len(self.stream_pods)] if there and good else ""
        error = "" if echoed == job.get("messages", 3) else "closed"
        return {
            "kind": job["kind"],
            "port": job["port"],
            "connected": there,
            "echoed": echoed,
            "error": error,
            "pod": pod,
            "seconds": 0.1,
        }

    def open_again(self, node, command):
        self.closed_back = False
        return ""

    def label(self, node, command):
        return ""

    def node(self, name):
        ready = "False" if name in self.not_ready else "True"
        info = {"kubeletVersion": self.kubelets[name], "kubeProxyVersion": self.kubelets[name]}
        conditions = {
            "OutOfDisk": "False",
            "MemoryPressure": "False",
            "DiskPressure": "False",
            "Ready": ready,
        }
        status = {"conditions": [{"type": k, "status": v} for k, v in conditions.items()], "nodeInfo": info}
        status |= AMOUNTS
        return {"metadata": {"name": name}, "status": status}

    def pods(self):
        state = {"name": "echo", "ready": True, "restartCount": 0, "state": {"running": {}}}
        return [
            {
                "metadata": {"name": f"echo-{n}"},
                "spec": {"nodeName": n},
                "status": {"phase": "Running", "podIP": self.ips[n], "containerStatuses": [state]},
            }
            for n in NODES
        ]

    def memory(self):
        states = [
            {
                "name": name,
                "ready": False,
                "restartCount": 0,
                "state": state,
                "containerID": f"docker://{name}",
            }
            for name, state in (("hog", self.hog), ("neighbour", self.neighbour))
        ]
        return {
            "metadata": {"name": "memory"},
            "spec": {"nodeName": "n1"},
            "status": {"phase": "Running", "containerStatuses": states},
        }

    def gpu_pod(self, kind):
        return {"metadata": {"name": f"{kind}-n2"}, "spec": {}, "status": {"phase": self.gpu_phase}}

    def look(self, kind):
        cards = self.cards[kind]
        report = {
            "node": "n2",
            "pod": f"{kind}-n2",
            "devices": [f"nvidia{c}" for c in cards],
            "opens": self.opens.get(kind, cards),
            "listed": len(cards) or None,
        }
        return json.dumps(report) + "\n"

    def inside(self, node, command):
        """Do in each pod what the shell would do there."""
        if " volume-" in command:
            return self.volumes.inside(command)
        tokens = shlex.split(command)
        pods = [t for t in tokens if t.startswith("echo-") or t == "guarded"]
        program = shlex.split(next(t for t in tokens if t.startswith("kubectl exec")))
        what, job = next((w, program[i + 1]) for i, w in enumerate(program) if w in ("ask", "resolve"))
        act = self.answers if what == "ask" else self.resolve
        return "".join(act(p.removeprefix("echo-"), json.loads(job)) for p in pods)

    def answers(self, node, job):
        # The guarded pod runs on n1, beside one of the others.
        given = [self.answer(node, r, i) for r in job["requests"] for i in range(int(r.get("times", 1)))]
        node, pod = ("n1", node) if node == "guarded" else (node, f"echo-{node}")
        return json.dumps({"node": node, "pod": pod, "answers": given}) + "\n"

    def answer(self, node, request, i):
        url, host = request["url"], request.get("host", "")
        to, status = self.reached(node, url, host, i)
        answer = {"url": url, "host": host, "status": status, "error": "" if status else "timed out"}
        return {**answer, **({"node": to, "pod": f"echo-{to}"} if to else {})}

    def reached(self, node, url, host, i):
        place = url.split("/")[2].split(":")[0]
        turn = [n for n in NODES if n not in self.no_endpoint]
        if place == VIP:
            served = self.any_host or host == "avadm-accept.x.test"
            return (turn[i % len(turn)], 200) if served else ("", 404)
        if place == SERVICE or place.startswith("echo."):
            return turn[i % len(turn)], 200
        if place == GUARDED:
            shut = self.closed and self.enforced and not (self.opened and self.label_opens)
            return ("guarded", 200) if self.guarded and not shut else ("", 0)
        to = next(n for n, ip in self.ips.items() if ip == place)
        if self.closed_back and self.enforced_back and node == "guarded":
            return "", 0
        return ("", 0) if (node, to) in self.cut else (to, 200)

    def resolve(self, node, job):
        def one(name):
            found = self.names.get(name.split(".")[0]) or (["10.9.9.9"] if self.wildcard else None)
            absent = self.absent_site if name.endswith(".x.test") else 3
            return {"rcode": 0 if found else absent, "addresses": sorted(found or [])}

        return json.dumps({"node": node, "pod": "", "names": {n: one(n) for n in job["names"]}}) + "\n"
