"""The suite's client of a fake platform (platform_fakes.py): what its methods answer."""

import math
from types import SimpleNamespace

from platform_fakes import GPUS, Run

from ava.client import ApiError, Client, Problem
from ava.schemas.runs import Amounts, ClusterOut, NodeOut, PodOut, RunOut
from ava.schemas.users import UserOut
from avadm_validation.suites.platform.journal import ENDED


class FakeClient(Client):
    """The suite's client of a fake platform."""

    def __init__(self, world):
        self.world, self.name = world, ""

    def close(self):
        pass

    def login(self, name, password, *, label=None, days=30):
        if self.world.users.get(name, {}).get("password") != password:
            raise refusal(401, "login-refused")
        self.name = name
        return "token"

    def logout(self):
        pass

    def cluster(self):
        return ClusterOut.model_construct(
            seen=None, fresh=self.world.fresh, clusters=["default"], nodes=self._nodes()
        )

    def _nodes(self):
        def amount(gpu):
            return Amounts(gpu=gpu, cpu=1000, memory=1)

        more = {"cluster": "default", "pools": [], "gpu_model": "", "gpu_slots": 1, "open": True}
        with self.world.lock:
            taken = {n: len(self.world.taken(n)) + self.world.view.platform_adds for n in GPUS}
        return [
            NodeOut(name=n, capacity=amount(k), free=amount(k - taken[n]), **more) for n, k in GPUS.items()
        ]

    def users(self, *, state=None, most=None):
        rows = self.world.users.items()
        return iter([UserOut.model_construct(name=n) for n, u in rows if state in (None, u["state"])])

    def groups(self, *, all=False):
        mine = [n for n, g in self.world.groups.items() if all or self.name in g["members"]]
        return [SimpleNamespace(name=n) for n in mine]

    def group(self, name):
        with self.world.lock:
            gpu = self.world.used(name, "gpu")
            used = SimpleNamespace(cpu=self.world.used(name, "cpu"), gpu=gpu)
            quota = SimpleNamespace(**self.world.groups[name]["quota"])
            return SimpleNamespace(name=name, gid=self.world.reading.gid(name), used=used, quota=quota)

    def make_user(self, name, email, password, *, admin=False):
        if name in self.world.users:
            raise refusal(409, "name-taken")
        self.world.users[name] = {"state": "active", "default": None, "password": password}

    def set_password_of(self, name, new):
        self.world.users[name]["password"] = new

    def change_user(self, name, **changes):
        if self.world.last_admin and name.endswith("admin"):
            raise refusal(409, "last-administrator")
        self.world.users[name].update(changes)

    def make_group(self, name, quota):
        # A group's name is never given again.
        if name in self.world.groups or name in self.world.group_names:
            raise refusal(409, "name-taken")
        self.world.group_names.add(name)
        self.world.groups[name] = {"quota": quota, "members": []}

    def add_member(self, group, user):
        self.world.groups[group]["members"].append(user)

    def members(self, group):
        if group not in self.world.groups:
            raise refusal(404, "group-missing")
        return [SimpleNamespace(name=m) for m in self.world.groups[group]["members"]]

    def remove_member(self, group, user):
        self.world.groups[group]["members"].remove(user)

    def delete_group(self, name):
        with self.world.lock:
            if any(r.group == name and r.state not in ENDED for r in self.world.runs.values()):
                raise refusal(409, "group-in-use")
            del self.world.groups[name]

    def set_default_group(self, group):
        with self.world.lock:
            self.world.clock += 0.01
            self.world.users[self.name]["default"] = group

    def start(self, name, spec, *, key=None):
        world, job = self.world, dict(spec)
        with world.lock:
            node, model = job.get("node"), job.get("gpu_model")
            gpu = any(r["each"].get("gpu") for r in job["roles"])
            if node in GPUS and not gpu and not world.lets_in:
                raise refusal(422, "node-unknown")
            world.clock += 0.01
            if "NVIDIA_VISIBLE_DEVICES" in job.get("env", {}) and not world.takes_all_gpus:
                raise refusal(422, "variable-reserved")
            if model and model not in world.models.values() and world.refuses_model:
                raise refusal(422, "gpu-model-unknown")
            run = Run(
                f"r{len(world.runs)}", self.name, world.charges(world.users[self.name]), job, program(job)
            )
            run.name = name
            world.runs[run.id] = run
            world.clock += 0.01
            return self._out(run)

    def stop(self, id):
        with self.world.lock:
            run = self.world.runs[id]
            run.stop = min(run.stop, self.world.clock)
            if run.state == "queued":
                run.state = "stopped"

    def runs(self, *, group=None, all=False, **more):
        with self.world.lock:
            self.world.step()
            if self.world.moves:
                for run in self.world.runs.values():
                    run.group = self.world.users[run.owner]["default"] or run.group
            there = [r for r in self.world.runs.values() if group in (None, r.group)]
            return [self._out(r) for r in there]

    def pods(self, id):
        with self.world.lock:
            self.world.step()
            run = self.world.runs[id]
            return [self._pod(run, i, node) for i, node in run.nodes.items()]

    def _pod(self, run, i, node):
        world, why = self.world, ""
        if run.stop < math.inf and world.tells:
            if not world._up(node) and world.clock > world.dead_since[node] + 40:
                why = "NodeLost"
            elif f"{run.id}-{i}" in world.hung and world.clock > run.stop + 60:
                why = "Stuck"
        phase, why, restarts = self._memory(run) or ("Running", why, 0)
        report = {"name": f"{run.id}-{i}", "role": run.spec["roles"][i].get("name", "worker"), "index": 0}
        return PodOut.model_construct(
            **report, phase=phase, restarts=restarts, node=node, reason=why, message=""
        )

    def _memory(self, run):
        """Return phase, reason and restarts of a pod of the checks of memory."""
        world, since = self.world, self.world.clock - run.running
        if run.program in ("beat", "victim") and world.neighbours_die:
            return "Failed", world.oom, 0
        if run.program == "parent" and world.whole_container:
            return "Failed", world.oom, 0
        if run.program == "hog" and since > 1:
            return ("Running", "", 1) if since > 2 and world.starts_again else ("Failed", world.oom, 0)
        return None

    def logs(self, id, *, tail=1000, since=None, pod=None):
        run = self.world.runs[id]
        if not self.world.logs_there:
            raise refusal(503, "no-logs")
        if run.program == "tell":
            self.world.reading.may(run, self.name)
            return [SimpleNamespace(text=x) for x in self.world.reading.kept(run)]
        if run.program == "folders":
            return [SimpleNamespace(text=self.world.reading.folders(run))] if run.state in ENDED else []
        if run.program == "victim" and not run.nodes:
            return []
        if run.program == "victim":
            return [SimpleNamespace(text=f"ready {' '.join(f'nvidia{c}' for c in run.cards.get(0, ()))}")]
        if run.program == "attacker":
            return [SimpleNamespace(text=x) for x in self.world.attacks.log(run)] if run.nodes else []
        if run.program == "beat":
            return [SimpleNamespace(text='{"worst_gap_s": 0.02}')]
        if run.program == "parent":
            messages = ["cards ", f"child {-9 if self.world.kills_child else 0}", "alive 0"]
            return [SimpleNamespace(text=x) for x in messages[: 1 if self.world.whole_container else 3]]
        cards = [f"/dev/nvidia{c}" for i in run.cards for c in run.cards[i]]
        return [SimpleNamespace(text=f"cards  {' '.join(cards)}")]

    def follow(self, id, *, tail=10, pod=None):
        run = self.world.runs[id]
        self.world.reading.may(run, self.name)
        return (SimpleNamespace(text=x) for x in self.world.reading.lines(run, "stream"))

    def group_folder(self, group):
        return SimpleNamespace(made=True, trouble="")

    def definitions(self, **more):
        return iter([])

    def _out(self, run):
        phase = "queued" if run.state == "queued" else "finished" if run.state in ENDED else "admitted"
        stop = None if run.stop == math.inf else run.stop
        state = "stopping" if stop and run.state not in ENDED else run.state
        return RunOut.model_construct(
            id=run.id, group=run.group, owner=run.owner, state=state, reason="", phase=phase, stop=stop
        )


def program(job):
    """Return which of the suite's programs a job runs."""
    text = job["command"][-1]
    for part, kind in (
        ("shmget", "victim"),
        ("argv.pop", "attacker"),
        ("'/groups'", "folders"),
        ("'line'", "tell"),
    ):
        if part in job["command"][2]:
            return kind
    for part, kind in (("worst_gap", "beat"), ("subprocess", "parent"), ("'taking'", "hog")):
        if part in text:
            return kind
    if "SIG_IGN" in text:
        return "deaf"
    return "graceful" if "while True" in text else "short"


def refusal(status, code):
    return ApiError(status, Problem(code, f"{code}.", "body"))
