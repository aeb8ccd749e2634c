"""What is read in a fake platform (platform_fakes.py): logs by each way, and groups' folders in a container."""

import json
from contextlib import contextmanager

from ava.client import ApiError
from avadm_validation.suites.platform.work import LINES

LATER = 1e6
"""Lines are written so much later than they are read: other threads move the clock meanwhile."""


class Reading:
    """A good platform's; its attributes are what faults change.

    Attributes:
        late: seconds that each way's lines take.
        keeps: lines that are there when the pod is gone.
        open_to_all: whether anybody may read a log.
        unmounted, foreign: groups that a container lacks, or sees beside its user's.
        mode: of groups' folders.
        stays: whether a container still has a group that was left.
        forgets: whether what one container writes is not there for the next.
    """

    def __init__(self, world):
        self.world, self.late, self.keeps, self.open_to_all = world, {}, LINES, False
        self.unmounted, self.foreign, self.mode, self.stays, self.forgets = 0, False, 0o2770, False, False
        self.written = {}

    def lines(self, run, way):
        """Yield a log's lines as they come by a way; the run ends when all three have read it."""
        late = self.late.get(way)
        for n in range(LINES):
            reply = self.world.clock + (LATER if late is None else 0)
            self.world.rest(late or 0)
            yield f"line {n} {reply}"
        run.reads += 1

    def kept(self, run):
        if run.reads < 3:
            return []
        return [f"line {n} 1.0" for n in range(self.keeps)]

    def may(self, run, name):
        """ApiError where a user must not read a run's log."""
        if name != run.owner and not self.open_to_all:
            raise ApiError(404 if name else 401)

    @contextmanager
    def browser(self, ctx, who):
        yield FakeBrowser(self, who.name)

    def command_line(self, ctx, who, run):
        return self.lines(self.world.runs[run], "command-line")

    def folders(self, run):
        """Return what a container tells of the folders of groups that it looked into."""
        *asked, foreign = run.spec["command"][3:]
        mine = [g for g in asked if run.owner in self.world.groups[g]["members"] or self.stays]
        mine = [*mine[self.unmounted :], *([foreign] if self.foreign else [])]
        each = {g: {} for g in (*asked, foreign)}
        for group in mine:
            each[group] = {"mode": self.mode, "gid": self.gid(group), "read": run.id}
            before = self.written.get(group)
            if before not in (None, run.id) and not self.forgets:
                each[group]["found"] = before
            self.written.setdefault(group, run.id)
        others = [g for g, x in self.world.groups.items() if run.owner in x["members"] and g not in asked]
        return json.dumps({"mark": run.id, "there": [*mine, *others], "opened": mine, "each": each})

    def gid(self, group):
        return 5000 + sorted(self.world.groups).index(group) if group in self.world.groups else 0


class FakeBrowser:
    """A browser in which somebody is logged in."""

    def __init__(self, reading, name):
        self.reading, self.name = reading, name

    def log_out(self):
        self.name = ""

    def page(self, path):
        if path == "/trainings/new":
            return 200, self.reading.world.view.form()
        run = self.reading.world.runs[path.rpartition("/")[2]]
        try:
            self.reading.may(run, self.name)
        except ApiError as refused:
            return (refused.status if self.name else 303), ""
        return 200, f'logs.js data-run="{run.id}"'

    def follow(self, run):
        found = self.reading.world.runs[run]
        self.reading.may(found, self.name)
        return self.reading.lines(found, "browser")
