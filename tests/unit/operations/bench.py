"""A running site on which verbs are run without its lock, and as a kill at any write of its state leaves it."""

import json
from dataclasses import dataclass, field

import pytest

from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.operations import drain
from avadm.operations import maintenance as module
from avadm.operations import run as runner
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.state.operations import OPERATION
from avadm.state.site_state import SiteState
from tests.unit.fakes import sites
from tests.unit.operations.running_site import RunningSite

NETWORK = {"ingress_vip": "10.0.0.251"}


def bench_of(tmp_path, *given, **more):
    site = sites.site(*given, network=NETWORK, **more)
    site_file = SiteFile(tmp_path / "site.yml", site, profiles.load("lab-bookworm"))
    return Bench(RunningSite(site), site_file, SiteState.of(site_file.path, "demo"))


def refusals(call, *words, **more):
    with pytest.raises(AvadmError) as error:
        call(*words, **more)
    assert error.value.exit_code == 2
    return [f.check for f in error.value.findings]


def kills(bench, call):
    """Run a command; return the site and its state as of each write of the state, as a kill there would leave them."""
    held, plain = [], SiteState._save

    def save(self):
        plain(self)
        held.append((bench.fleet.copy(), json.dumps(self.as_dict())))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteState, "_save", save)
        call()
    return held


def killed(bench, tmp_path, number, held):
    """Return a bench whose site is as a kill left it."""
    fleet, state = held
    again = Bench(
        RunningSite(bench.fleet.site), bench.site_file, SiteState(tmp_path / f"{number}.json", "demo")
    )
    again.fleet.restore(fleet)
    again.state.replace(json.loads(state))
    return again


@dataclass
class Bench:
    """A running site on which verbs are run without its lock."""

    fleet: RunningSite
    site_file: SiteFile
    state: SiteState
    lines: list = field(default_factory=list)

    def cluster(self):
        # Whichever administrator is named: it is the same platform.
        names = ("", "root2") if self.fleet.site.components.ava is not None else ()
        return Cluster(self.site_file, self.fleet, self.state, platforms=dict.fromkeys(names, self.fleet.ava))

    def begin(self, *names, accept=(), **more):
        asked = module.Begin(
            names,
            more.get("rack"),
            more.get("seconds", 7200),
            more.get("reason", "new memory"),
            frozenset(accept),
            more.get("drain", drain.DrainOptions()),
        )
        return self.run(module.begin(asked, lambda: self.fleet.now), accept)

    def end(self, *words, accept=()):
        return self.run(module.end(words, accept), accept)

    def drain(self, *names, accept=(), **more):
        return self.run(drain.drain(names, drain.DrainOptions(**more), accept), accept)

    def run(self, build, accept=()):
        """Plan, then do what `operations.run.run` does under the lock; return the plan."""
        planned = self.plan(build)
        clock = runner.Clock(lambda: self.fleet.ava.now, self.fleet.ava.sleep)
        runner._prepared(self.cluster(), build, accept, self.lines.append, planned.command, clock)
        return planned

    def plan(self, build):
        return build(self.cluster())

    def on(self):
        return module.maintenances(self.state)

    @property
    def owned(self):
        """Settings that end with a command."""
        return [r for r in self.state.settings() if r.owner.startswith(OPERATION)]
