# Runs on nodes: python 2.7 and 3.
"""A systemd unit that is to run with the files that are on the node now."""

from __future__ import absolute_import, division, print_function

import os
import time

from ansible.module_utils.avadm_ask import ask, refuses
from ansible.module_utils.avadm_health import Health

STAMPS = "/run/avadm/daemon"
DROPIN = "/etc/systemd/system/%s.d/avadm.conf"
PROPERTIES = (
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "NeedDaemonReload",
    "DropInPaths",
    "ExecMainStartTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
)
KINDS = (".service", ".timer")
OPTIONS = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["running", "stopped"], "default": "running"},
    "restart_on": {"type": "list", "elements": "str", "default": []},
    "reload_on": {"type": "list", "elements": "str", "default": []},
    "settings": {"type": "str"},
    "ready_url": {"type": "str"},
    "health": {"type": "list", "elements": "str", "default": []},
    "own": {"type": "str", "default": ""},
    "peers": {"type": "list", "elements": "str", "default": []},
    "gate": {"type": "list", "elements": "str", "default": []},
    "ready_tls": {
        "type": "dict",
        "options": {
            "ca": {"type": "path", "required": True},
            "certificate": {"type": "path"},
            "key": {"type": "path", "no_log": False},
            "anybody": {"type": "bool", "default": False},
        },
        "required_together": [["certificate", "key"]],
    },
    "timeout": {"type": "int", "default": 60},
}


class DaemonError(Exception):
    """The daemon does not run as it should; the text is for people."""


def monotonic():
    """Return seconds of CLOCK_MONOTONIC, the clock of systemd's timestamps, also under python 2.7."""
    if hasattr(time, "monotonic"):
        return time.monotonic()
    import ctypes

    class Timespec(ctypes.Structure):
        _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]

    now = Timespec()
    ctypes.CDLL(None).clock_gettime(1, ctypes.byref(now))
    return now.sec + now.nsec / 1e9


def whole(name):
    """Return a unit's name with its ending."""
    return name if name.endswith(KINDS) else name + ".service"


def answers(url, tls=None):
    """Return None if the URL answers 200, else what came instead."""
    status, reply = ask(url, tls)
    return None if status == 200 else reply if status == -1 else "status %d" % status


class Daemon(object):
    """One systemd unit.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        gate: called before what runs is restarted or reloaded; DaemonError refuses that.
        root: prefix of the paths that are read and written, for tests.
        changed: paths that were (in check mode would be) written or removed; they count as newer than what runs.
    """

    def __init__(self, name, run, root="", check_mode=False, gate=None, changed=()):
        self.name = name
        self.unit = whole(name)
        self.run = run
        self.root = root
        self.check_mode = check_mode
        self.gate = gate
        self.changed = set(changed)
        self.actions = []
        self.diffs = []

    def show(self):
        """Return the unit's properties."""
        argv = ["systemctl", "show", self.unit] + ["-p" + p for p in PROPERTIES]
        rc, out, err = self.run(argv)
        if rc != 0:
            raise DaemonError("systemctl does not answer: %s" % (err or out).strip())
        return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)

    @staticmethod
    def started(unit):
        """Return when what runs was started, seconds since 1970, from the unit's properties."""
        # A timer has no process of its own.
        since = (int(unit.get(p) or 0) for p in PROPERTIES[-2:])
        return time.time() - monotonic() + next((s for s in since if s), 0) / 1e6

    def systemctl(self, verb):
        """Do one verb to the unit (daemon-reload takes none) and note it."""
        self.actions.append(verb)
        if self.check_mode:
            return
        argv = ["systemctl", verb] + ([] if verb == "daemon-reload" else [self.unit])
        rc, out, err = self.run(argv)
        if rc != 0 and "too often" in out + err:
            # Counted are all starts (ceph's units: 3 in 30 minutes), also those that somebody asked for; anyone who runs
            # this wants it to be tried again.
            self.run(["systemctl", "reset-failed", self.unit])
            rc, out, err = self.run(argv)
        if rc != 0:
            raise DaemonError("`%s` failed: %s%s" % (" ".join(argv), (err or out).strip(), self.log()))

    def interrupt(self, verb):
        """Restart or reload what runs, as soon as its peers serve."""
        if self.gate is not None and not self.check_mode:
            self.gate()
        self.systemctl(verb)

    def log(self):
        """Return the unit's last log lines, for an error."""
        _rc, out, _err = self.run(["journalctl", "-q", "--no-pager", "-n", "8", "-o", "cat", "-u", self.name])
        return " | Its log ends: %s" % " / ".join(out.split("\n")).strip(" /") if out.strip() else ""

    def stamp(self):
        """Return the path whose time is that of the last reload; gone after a boot, as it should be."""
        return self.root + STAMPS + "/" + self.name

    def newer(self, paths, than):
        """Return those of the paths that changed after a moment (seconds since 1970)."""
        found = []
        for path in paths:
            full = self.root + path
            if any(one == path or one.startswith(path + "/") for one in self.changed):
                found.append(path)
                continue
            entries = [full]
            if os.path.isdir(full):
                entries += [os.path.join(full, e) for e in os.listdir(full)]
            times = [max(os.stat(e).st_mtime, os.stat(e).st_ctime) for e in entries if os.path.exists(e)]
            if times and max(times) > than:
                found.append(path)
        return found

    def unread(self, paths, known):
        """Return those of the paths that are drop-ins of the unit which systemd has not read, or which it knows and are gone.

        NeedDaemonReload says nothing of the first drop-in of a unit: systemd looks for folders it knows.
        """
        drop_ins = [path for path in paths if os.path.basename(os.path.dirname(path)) == self.unit + ".d"]
        return [path for path in drop_ins if os.path.exists(self.root + path) != (path in known)]

    def write_settings(self, text):
        """Write our drop-in of the unit if it differs, and have systemd read it."""
        path = self.root + DROPIN % self.unit
        text, before = text.rstrip("\n") + "\n", ""
        try:
            with open(path) as source:
                before = source.read()
        except IOError:
            pass
        if before == text:
            return
        self.actions.append("settings")
        self.changed.add(DROPIN % self.unit)
        self.diffs.append({"before": before, "after": text, "before_header": path, "after_header": path})
        if self.check_mode:
            return
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path), 0o755)
        with open(path + ".new", "w") as target:
            target.write(text)
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)
        self.systemctl("daemon-reload")

    def ensure(self, restart_on, reload_on, settings=None):
        """Bring the unit about; return the files that called for a restart or reload."""
        if settings is not None:
            self.write_settings(settings)
            restart_on = restart_on + [DROPIN % self.unit]
        unit = self.show()
        if unit.get("LoadState") in ("not-found", "error"):
            # What it remembers of a unit whose file was away for a while keeps systemd from loading it: "Device or resource
            # busy" at the start of one that had died meanwhile.
            self.systemctl("daemon-reload")
            unit = self.show()
        if unit.get("LoadState") == "not-found" and not self.check_mode:
            raise DaemonError("There is no unit %s. Remedy: see that its package is installed." % self.unit)
        unread = self.unread(restart_on, unit.get("DropInPaths", "").split())
        if unread or unit.get("NeedDaemonReload") == "yes":
            self.systemctl("daemon-reload")
        if unit.get("UnitFileState") not in ("enabled", "static"):
            self.systemctl("enable")
        if unit.get("ActiveState") not in ("active", "activating", "reloading"):
            self.systemctl("start")
            return []
        started = self.started(unit)
        # Also where a run that ended half-way has restarted it without them.
        because = unread + [path for path in self.newer(restart_on, started) if path not in unread]
        if because:
            self.interrupt("restart")
            return because
        read = started
        if os.path.exists(self.stamp()):
            read = max(started, os.stat(self.stamp()).st_mtime)
        because = self.newer(reload_on, read)
        if because:
            # The moment is taken before the reload: a file that changes during it is caught by the next run.
            before = time.time()
            # What dies and is started again and again (activating) takes no reload; with the new files it may stay.
            self.interrupt("reload" if unit.get("ActiveState") == "active" else "restart")
            self.mark(before)
        return because

    def stop(self):
        """Stop the unit for good; one that is not there is stopped."""
        unit = self.show()
        if unit.get("ActiveState") not in ("inactive", "failed"):
            self.systemctl("stop")
        if unit.get("UnitFileState") == "enabled":
            self.systemctl("disable")

    def mark(self, when):
        """Remember a reload."""
        if self.check_mode:
            return
        if not os.path.isdir(os.path.dirname(self.stamp())):
            os.makedirs(os.path.dirname(self.stamp()))
        open(self.stamp(), "a").close()
        os.utime(self.stamp(), (when, when))

    def await_ready(self, url, timeout, sleep=time.sleep, clock=time.time, tls=None):
        """Wait until the daemon answers; DaemonError if it does not in time."""
        deadline = clock() + timeout
        while True:
            alone = tls and not tls.get("certificate") and not tls.get("anybody")
            trouble = refuses(url, tls["ca"]) if alone else answers(url, tls)
            if trouble is None:
                return
            if clock() >= deadline:
                raise DaemonError(
                    "%s does not answer at %s within %d s (%s)."
                    " Remedy: look at `journalctl -u %s` on the node.%s"
                    % (self.name, url, timeout, trouble, self.name, self.log())
                )
            sleep(0.5)

    def await_serving(self, given):
        """Wait until it answers as it is to."""
        if given["ready_url"]:
            self.await_ready(given["ready_url"], given["timeout"], tls=given["ready_tls"])
        trouble = given["own"] and self.health.awaited([given["own"]], given["timeout"])
        if trouble:
            raise DaemonError(
                "%s does not serve within %d s (%s). Remedy: look at `journalctl -u %s` on the node.%s"
                % (self.name, given["timeout"], trouble, self.name, self.log())
            )


def daemon_of(module, given, check, changed=()):
    """Return the daemon of a module's parameters."""
    health = Health(module.run_command, given["health"])

    def gate():
        trouble = health.awaited(given["gate"], given["timeout"])
        if trouble:
            raise DaemonError(
                "%s is not restarted here, since it does not serve on another node (%s). Remedy: see there what the unit's"
                " log says, then apply again." % (given["name"], trouble)
            )

    daemon = Daemon(given["name"], module.run_command, check_mode=check, gate=gate, changed=changed)
    daemon.health = health
    return daemon


def bring(daemon, given):
    """Bring it about, or to a stop; return what a module returns."""
    if given["state"] == "stopped":
        daemon.stop()
        return {"changed": bool(daemon.actions), "actions": daemon.actions, "because": []}
    because = daemon.ensure(given["restart_on"], given["reload_on"], given["settings"])
    if not daemon.check_mode:
        daemon.await_serving(given)
    interrupts = bool({"restart", "reload"} & set(daemon.actions))
    look = interrupts and daemon.check_mode
    asked = given["peers"] if look else []
    return {
        "changed": bool(daemon.actions),
        "actions": daemon.actions,
        "because": because,
        "interrupts": interrupts,
        "answering": [place for place in asked if not daemon.health.trouble(place)],
        "serving": bool(look and given["own"] and not daemon.health.trouble(given["own"])),
    }
