"""An AVA in memory whose versions change: processes that report, a database with revisions, a registry, kept manifests."""

from dataclasses import dataclass, field

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.operations.ava_migrations import Migration
from avadm.operations.ava_platform import ACTS, LOOPS, PHASE, DatabaseState, Manifests, Pod, Release, Seen
from avadm.state.site_state import PhaseState

FORMER = Release("0.1.0-aaaaaaaaaaaa", "0.1.0-sources1")
NEWEST = Release("0.1.0-bbbbbbbbbbbb", "0.1.0-sources2")
PARTS = ["api", "operator", "scheduler", "gate", "jump"]
MIGRATIONS = [
    Migration("0001", "", "the first", False),
    Migration("0002", "0001", "names of things", True),
]
MASTERS = ["m1", "m2", "m3"]
NODES = ["m1", "m2", "m3", "r1", "w1", "w2"]


@dataclass
class Ava:
    """AVA of a site, as `avadm.operations.ava_platform.AvaPlatform` gives it.

    Attributes:
        cluster: the site.
        runs: the version that runs.
        revision: of the database.
        images: tags that the registry has.
        written: tag of the manifests on masters.
        kept: tags of those that are kept there.
        dumps: revision and moment of each dump.
        did: what was done, in order.
        killed_in: the work in which avadm is killed, once, and whether it had its effect.
        silent: parts of the new version that do not act, or whose pods are not ready.
    """

    cluster: object
    runs: Release = FORMER
    revision: str = "0001"
    head: str = "0002"
    images: set = field(default_factory=lambda: {FORMER.tag})
    written: str = FORMER.tag
    kept: list = field(default_factory=list)
    dumps: list = field(default_factory=list)
    did: list = field(default_factory=list)
    built: bool = True
    sick: dict = field(default_factory=dict)
    killed_in: tuple = ("", False)
    fails_in: str = ""
    silent: set = field(default_factory=set)
    away: set = field(default_factory=set)
    free: int = 2**40
    way: str = ""
    pods: int = 2
    parts: list = field(default_factory=lambda: list(PARTS))
    newest_is: Release = NEWEST
    deployed: dict = field(default_factory=dict)

    def missing(self):
        return (
            []
            if self.built
            else [finding("artifact-missing", title="ava-image", names="ava", state="absent")]
        )

    def newest(self):
        return self.newest_is if self.built else None

    def seen(self):
        silent = self.silent if self.runs == self.newest_is else set()
        pods = []
        for part in self.parts:
            for number in range(self.pods):
                acts = number == 0 and part not in silent
                figures = {ACTS[part]: float(acts), LOOPS[part]: 3.0 * acts} if part in ACTS else {}
                ready = f"{part}-{number}" not in silent
                version = "" if part == "jump" else self.runs.version
                pods.append(Pod(f"{part}-{number}", part, self.runs.tag, ready, False, version, figures, ""))
        deployed = dict.fromkeys(self.parts, self.runs.tag) | self.deployed
        leases = {"ava-operator": "", "ava-scheduler": ""}
        return Seen(deployed, dict.fromkeys(self.parts, self.pods), pods, leases, self.way)

    def database(self):
        return DatabaseState("w1", self.revision, 2**20, self.free)

    def members(self):
        return dict(self.sick)

    def dump(self, state):
        def act():
            began = self.cluster.state.begun()[0].started
            self.dumps.append((began + len(self.dumps), state.revision))

        self._do(f"dump {state.revision}", act)
        return "w1:/var/lib/avadm/ava-dumps/x.dump"

    def dumped(self, since):
        return [revision for at, revision in sorted(self.dumps) if at >= since]

    def manifests(self):
        return {name: Manifests(self.written, list(self.kept)) for name in MASTERS}

    def keep(self, tag):
        def act():
            if self.written == tag and tag not in self.kept:
                self.kept.insert(0, tag)

        self._do(f"keep {tag}", act)
        return MASTERS if tag in self.kept else []

    def pushed(self, tag):
        return {"r1": tag in self.images}

    def nodes(self):
        return [name for name in NODES if name not in self.away]

    def settled(self, names):
        return all(self.cluster.state.entry(PHASE, n).state is PhaseState.DONE for n in names)

    def migrate(self, former, nodes, command, tell):
        def act():
            self.images.add(self.newest_is.tag)
            self.written, self.revision = self.newest_is.tag, self.head

        self._phase("migrate", nodes, act)

    def roll(self, nodes, command, tell):
        def act():
            self.images.add(self.newest_is.tag)
            self.written, self.revision, self.runs = self.newest_is.tag, self.head, self.newest_is

        self._phase("roll", nodes, act)

    def restore(self, former, master, command, tell):
        assert former.tag in self.kept and former.tag in self.images

        def act():
            self.runs = former

        self._phase(f"restore {former.tag}", [master], act)

    def _phase(self, what, nodes, act):
        state = self.cluster.state
        state.start(PHASE, dict.fromkeys(nodes, "d"), "r")
        try:
            self._do(what, act)
        except AvadmError:
            state.finish(PHASE, dict.fromkeys(nodes, PhaseState.FAILED))
            raise
        state.finish(PHASE, dict.fromkeys(nodes, PhaseState.DONE))

    def _do(self, what, act):
        self.did.append(what)
        verb, late = self.killed_in
        if verb and what.startswith(verb):
            self.killed_in = ("", False)
            if late:
                act()
            raise KeyboardInterrupt
        act()
        if self.fails_in and what.startswith(self.fails_in):
            raise AvadmError(finding("phase-failed", phase=PHASE))
