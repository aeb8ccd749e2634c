#!/usr/bin/python3
# Written by avadm; python 2.7 and 3.
"""avadm-ceph-backfill CONFIG [--withdraw]: sets the limits of ceph's backfill and recovery that are those of the hour.

Each monitor node runs it from a timer, with a key that may set these options alone. An option that was set by hand is left as it
is: what this program itself has set last is kept in the cluster (RECORD), and any other value is left.
"""

from __future__ import print_function

import json
import subprocess
import sys
import time

ENTITY = "client.avadm-backfill"
RECORD = "avadm/backfill"
"""Key of the monitors' store: option to the values that this program set, two of them while it sets one."""
LIMITS = (
    ("max_backfills", "osd_max_backfills"),
    ("recovery_max_active", "osd_recovery_max_active"),
    ("recovery_sleep_s", "osd_recovery_sleep"),
)
"""Keys of the site file and options of ceph."""
OVERRIDE = "osd_mclock_override_recovery_settings"
"""From 17 on OSDs with the scheduler mClock ignore the other options, and remove them, where this one is not true."""
OPTIONS = (OVERRIDE,) + tuple(option for _, option in LIMITS)
"""In the order in which they are set."""
ENOENT = 2


class AskError(Exception):
    """The monitors gave no answer, or refused."""


def inside(hours, minute):
    """Return whether a minute of the day is within hours such as 22:00-06:00, whose end is not part of them; "" has none."""
    if not hours:
        return False
    begin, end = [int(one[:2]) * 60 + int(one[3:]) for one in hours.split("-")]
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def wanted(config, minute):
    """Return option to the text that it is to have at a minute of the day, UTC; None for ceph's own default.

    Args:
        config: ``limits``, ``hours``, ``limits_in_hours``, and whether mClock has to be overridden (``mclock``).
    """
    given = config["limits_in_hours"] if inside(config["hours"], minute) else config["limits"]
    named = set(config["limits"]) | set(config["limits_in_hours"])
    found = dict((option, text(given.get(key))) for key, option in LIMITS if key in named)
    if config["mclock"] and found:
        found[OVERRIDE] = "true"
    return found


def text(value):
    """Return a value as ceph takes it; None stays None."""
    return None if value is None else "%g" % value if isinstance(value, float) else str(value)


def same(one, other):
    """Return whether two values are the same: 0.1 and 0.100000, true and True; None is only None."""
    if one is None or other is None:
        return one is other
    try:
        return float(one) == float(other)
    except ValueError:
        return one.lower() == other.lower()


def foreign(option, value, record):
    """Return whether a value was set by hand: it is there, and not one that this program has set."""
    return value is not None and not any(same(value, ours) for ours in record.get(option, []))


class Limits(object):
    """The limits of one cluster.

    Args:
        ask: callable(*words) -> what ``ceph`` answers; None where there is no such key; AskError.
        show: shows one line.
    """

    def __init__(self, ask, show):
        self.ask, self.show = ask, show

    def current(self):
        """Return option to the value that the monitors keep for OSDs; without options that are not set."""
        found = json.loads(self.ask("config", "get", "osd", "--format", "json") or "{}")
        return dict((option, str(found[option]["value"])) for option in OPTIONS if option in found)

    def record(self):
        """Return option to the values that this program has set."""
        answer = self.ask("config-key", "get", RECORD)
        try:
            found = json.loads(answer or "{}")
            return dict((str(k), [str(v) for v in found[k]]) for k in found if k in OPTIONS)
        except (ValueError, TypeError):
            # As if nothing had been set by us: then nothing is touched.
            self.show("%s cannot be read: what is set is left as it is" % RECORD)
            return {}

    def keep(self, record):
        """Write what this program has set."""
        self.ask("config-key", "set", RECORD, json.dumps(record, sort_keys=True))

    def apply(self, limits):
        """Set what differs; return what was set by hand and is left, as option to value."""
        current, record = self.current(), self.record()
        left = {}
        for option in OPTIONS:
            # No longer named by the site file, and set by us before: it goes.
            if option in limits or record.get(option):
                value = current.get(option)
                if not same(value, limits.get(option)) and foreign(option, value, record):
                    left[option] = value
        if OVERRIDE in left and OVERRIDE in limits:
            # OSDs would remove the others at once.
            return left
        for option in OPTIONS:
            if option in left or not (option in limits or record.get(option)):
                continue
            value, goal = current.get(option), limits.get(option)
            others = dict((k, v) for k, v in record.items() if k != option)
            after = others if goal is None else dict(others, **{option: [goal]})
            if not same(value, goal):
                both = sorted(one for one in (value, goal) if one is not None)
                self.keep(dict(others, **{option: both}))
                if goal is None:
                    self.ask("config", "rm", "osd", option)
                else:
                    self.ask("config", "set", "osd", option, goal)
                self.show("%s: %s (was %s)" % (option, goal or "ceph's default", value or "ceph's default"))
            elif after == record or foreign(option, value, record):
                continue
            # Of one that was killed, or from now on: a value of other hours that is set by hand later is not ours.
            self.keep(after)
            record = after
        return left


def ceph(*words):
    """Return what the command answers; None where it knows no such key; AskError where no monitor answers or one refuses."""
    argv = ["timeout", "60", "ceph", "--connect-timeout", "20", "--name", ENTITY] + list(words)
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = [part.decode("utf-8", "replace") for part in process.communicate()]
    if process.returncode == 0:
        return out
    if process.returncode == ENOENT and words[:2] == ("config-key", "get"):
        return None
    raise AskError(
        "ceph %s: exit status %d: %s" % (" ".join(words[:4]), process.returncode, err.strip()[-300:])
    )


def show(line):
    """Show one line."""
    print(line)
    sys.stdout.flush()


def main(arguments):
    """Run the program; return the exit status."""
    with open(arguments[0]) as stream:
        config = json.load(stream)
    now = time.gmtime()
    limits = {} if "--withdraw" in arguments[1:] else wanted(config, now.tm_hour * 60 + now.tm_min)
    try:
        left = Limits(ceph, show).apply(limits)
    except AskError as error:
        print(error, file=sys.stderr)
        return 1
    for option, value in sorted(left.items()):
        show(
            "%s: %s was set by hand and is left; `ceph config rm osd %s` gives it back"
            % (option, value, option)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
