"""An object store without nodes: it answers what the objects suite's tool would print on clients."""

import json
import shlex

from acceptance_fakes import FakeFleet, Result

from avadm_validation.measuring.targets import ObjectTarget, Target

CLIENTS = ("c1", "c2")
KEYS, LIMITED = ("ACCESS", "SECRET-OF-THE-SUITE"), ("OTHER", "SECRET-OF-THE-OTHER")


class FakeStore:
    """A good store; its attributes are what faults change."""

    latest = None

    def __init__(self):
        FakeStore.latest = self
        self.deaf, self.stayed, self.jobs = set(), [], []
        sums = {"a": "1", "b": "2", "c": "3"}
        self.functions = {
            "wanted": dict(sums),
            "got": dict(sums),
            "listed": list(sums),
            "left": [],
            "read_deleted": "NoSuchKey",
            "multipart": {"parts": 3, "bytes": 13_000_000, "wanted": "m", "got": "m"},
            "versions": {"wanted": ["1", "2"], "latest": "2", "deleted": "NoSuchKey", "got": ["1", "2"]},
        }
        refused = ("no key", "wrong secret", "unknown key", "another user")
        self.refusals = {
            "answers": {
                "right key": {"status": 200, "code": ""},
                **{name: {"status": 403, "code": "AccessDenied"} for name in refused},
            },
            "plain": {"status": 400, "error": ""},
        }
        self.quota = {"accepted": 15 << 20, "code": "QuotaExceeded", "readable": True, "quota": 16 << 20}
        self.rates = {"put": 10.0, "get": 20.0, "mixed": 10.0}
        self.load_errors, self.pause_ms = [], 1500
        self.during, self.after = "inactive", "active"
        self.users = [
            "lab-ai",
            "avadm-accept",
            "avadm-acceptor",
        ]  # of a killed run, and one that only looks so
        self.admin = []
        sums = {"one": "1", "parts": "2", "empty": "3"}
        good = {"boto3": "1.44.5", "wanted": sums, "got": dict(sums), "listed": sorted(sums), "error": ""}
        self.today = {
            "with": good,
            "without": {**good, "got": {}, "listed": [], "error": "MissingContentLength"},
        }

    def target(self, **changes):
        objects = {
            "endpoint": "https://objects.x.test:7443",
            "region": "default",
            "keys": ("", ""),
            "ca": "/etc/avadm/objects/ca.crt",
            "gateways": {"s1": "https://10.0.0.1:7443", "s2": "https://10.0.0.2:7443"},
            "quota_bytes": 16 << 20,
            **changes,
        }
        return Target("s", "p", "lab", CLIENTS, "s1", ("s1", "s2", *CLIENTS), objects=ObjectTarget(**objects))

    def fleet(self):
        return _Fleet(self)

    def answer(self, node, verb, job):
        if verb == "hello" and node in self.deaf:
            return {"rc": 1, "stderr": "hello: EndpointConnectionError"}
        if verb == "load":
            return json.dumps(self.load(job))
        docs = {
            "hello": {"boto3": "1.26.27", "buckets": []},
            "functions": self.functions,
            "refusals": self.refusals,
            "quota": self.quota,
            "sweep": {"stayed": self.stayed},
        }
        return json.dumps(docs[verb])

    def radosgw(self, words):
        """Answer radosgw-admin."""
        self.admin.append(words)
        uid = next((w.partition("=")[2] for w in words if w.startswith("--uid=")), "")
        if words[:2] == ["user", "rm"]:
            self.users.remove(uid)
        elif words[:2] == ["user", "create"]:
            self.users.append(uid)
            access, secret = LIMITED if uid.endswith("-quota") else KEYS
            return json.dumps({"user_id": uid, "keys": [{"access_key": access, "secret_key": secret}]})
        return json.dumps(self.users) if words[0] == "metadata" else ""

    def load(self, job):
        seconds = float(job["seconds"])
        step = int(1000 / self.rates[job["op"]]) or 1
        moments = list(range(step, int(seconds * 1000), step)) or [int(seconds * 1000)]
        if job["op"] == "mixed":
            half = int(seconds * 500)
            moments = [t for t in moments if not half - self.pause_ms / 2 < t < half + self.pause_ms / 2]
        return {
            "begun": 0.0,
            "seconds": seconds,
            "size": job["size"],
            "done_ms": moments,
            "errors": self.load_errors,
            "hanging": 0,
            "wrong": 0,
            "counts": [len(moments)],
        }


class _Fleet(FakeFleet):
    """Hands jobs from standard input to the store."""

    def __init__(self, store):
        super().__init__()
        self.store = store

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.ran.append((node, command))
        fields = ""
        if command.startswith("radosgw-admin"):
            assert node == "s1"
            fields = self.store.radosgw(shlex.split(command)[1:])
        elif "s3client.py" in command and stdin:
            job = json.loads(stdin)
            verb = command.split()[-1]
            self.store.jobs.append((node, verb, job))
            fields = self.store.answer(node, verb, job)
        elif "systemctl start" in command and "is-active" in command:
            fields = self.store.after + "\n"
        elif "is-active" in command:
            fields = self.store.during + "\n"
        return Result(node, command, **({"stdout": fields} if isinstance(fields, str) else fields))
