# Runs on nodes: python 2.7 and 3.
"""A service of a node: its login, folders, files and units, as they are to be."""

from __future__ import absolute_import, division, print_function

import grp
import os
import pwd

from ansible.module_utils import avadm_artifact, avadm_daemon, avadm_files, avadm_packages

UNITS = "/etc/systemd/system/"
TROUBLES = (
    avadm_artifact.ArtifactError,
    avadm_daemon.DaemonError,
    avadm_files.FilesError,
    avadm_packages.PackageError,
)
LISTS_AGE_S = 3600
"""Package lists that are older are refreshed before packages are installed."""


def unit_of(path):
    """Return the unit that a file, or a drop-in, belongs to; "" where it is none's."""
    name = path[len(UNITS) :].split("/")[0] if path.startswith(UNITS) else ""
    return name[:-2] if name.endswith(".d") else name


def effect(entry, unit):
    """Return what a changed file asks for: restart, reload or none."""
    if entry["on_change"]:
        return entry["on_change"]
    of = unit_of(entry["path"])
    # What a timer starts reads its files again each time.
    return "restart" if of == unit or not of and not unit.endswith(".timer") else "none"


class Service(object):
    """One service.

    Args:
        module: the Ansible module.
        check: whether nothing is changed.
    """

    def __init__(self, module, check):
        self.module, self.check, self.given = module, check, module.params
        self.unit = avadm_daemon.whole(self.given["name"]) if self.given["name"] else ""
        entries = self.given["files"]
        self.artifacts = [one for one in entries if one["artifact"]]
        self.files = avadm_files.Files(module, check)
        self.actions = []
        self.fixed, self.missing = False, {}

    def lacking(self):
        """Return path to the place to push for each artifact that the node lacks; nothing once they have been pushed."""
        if self.artifacts and not self.given["pushed"]:
            found = avadm_artifact.ensure(self.artifacts, [], self.given["login"], self.check)
            self.fixed, self.missing = found
        return self.missing

    def bring(self):
        """Bring it about; return what the module returns."""
        stopped = self.given["state"] == "stopped"
        timers = self.timers() if self.unit and not stopped else []
        result = self.run() if stopped else {"actions": [], "because": []}
        self.user()
        files = [one for one in self.given["files"] if not one["artifact"]]
        # Whom the others belong to may be made by the packages.
        early = [one for one in files if not one["owner"]] if self.given["packages_last"] else []
        self.files.bring(early)
        self.install()
        for folder in self.given["folders"]:
            self.folder(folder)
        self.put()
        self.files.bring([one for one in files if one not in early])
        if not stopped:
            self.reread()
        if self.unit and not stopped:
            result = self.run()
        for path in timers:
            more = {"name": unit_of(path), "restart_on": [path], "reload_on": [], "settings": None}
            found = self.run(dict(self.given, ready_url=None, own="", peers=[], **more))
            result["actions"] += ["%s %s" % (action, more["name"]) for action in found["actions"]]
        result["actions"] = self.actions + result["actions"]
        result["paths"] = self.files.paths
        result["changed"] = bool(result["actions"] or result["paths"])
        result["keeps"] = self.keeps(timers)
        return result

    def timers(self):
        """Return the files of the timers that run beside it."""
        found = [one["path"] for one in self.given["files"] if one["state"] == "present"]
        return [path for path in found if unit_of(path).endswith(".timer") and unit_of(path) != self.unit]

    def on(self, wanted):
        """Return the files that ask for this when they change."""
        own = [one["path"] for one in self.given["files"] if effect(one, self.unit) == wanted]
        return own + self.given[wanted + "_on"]

    def run(self, given=None):
        """Bring a unit about, or to a stop."""
        given = given or dict(self.given, restart_on=self.on("restart"), reload_on=self.on("reload"))
        daemon = avadm_daemon.daemon_of(self.module, given, self.check, self.files.paths)
        try:
            return avadm_daemon.bring(daemon, given)
        finally:
            self.files.diffs += daemon.diffs

    def keeps(self, timers):
        """Return what a changed file means to each unit that runs: (unit, restart or reload, path)."""
        if self.given["state"] == "stopped" or not self.unit:
            return []
        gone = [one["path"] for one in self.given["files"] if one["state"] == "absent"]
        # Of a program that distributions have in different places this node has one.
        further = self.given["restart_on"] + self.given["reload_on"]
        gone += [path for path in further if not os.path.exists(path)]
        reports = [
            (self.given["name"], kind, path) for kind in ("restart", "reload") for path in self.on(kind)
        ]
        reports += [(unit_of(path), "restart", path) for path in timers]
        return [one for one in reports if one[2] not in gone]

    def install(self):
        """Install what is missing of its packages."""
        wanted = self.given["packages"]
        if not wanted:
            return
        packages = avadm_packages.packages_of(self.module)
        done = avadm_packages.ensure(packages, wanted, LISTS_AGE_S, False, self.check, self.given["upgrade"])
        self.actions += ["install %s" % name for name in sorted(done["installed"])]
        if packages.update_trouble:
            self.module.warn("apt-get update: " + packages.update_trouble)

    def user(self):
        """Make the login, or fix its home and shell."""
        wanted = self.given["user"]
        if not wanted:
            return
        shown = [wanted["home"], wanted["shell"]]
        try:
            have = pwd.getpwnam(wanted["name"])
            argv = ["usermod"] if [have.pw_dir, have.pw_shell] != shown else None
        except KeyError:
            group = ["--gid", wanted["name"]] if known_group(wanted["name"]) else ["--user-group"]
            argv = ["useradd", "--system", "--no-create-home"] + group
        if argv is None:
            return
        self.actions.append("login")
        if not self.check:
            self.must(
                argv + ["--home-dir" if argv[0] == "useradd" else "--home", shown[0], "--shell", shown[1]]
            )

    def must(self, argv):
        """Run a program that has to succeed."""
        argv = argv + [self.given["user"]["name"]]
        rc, out, err = self.module.run_command(argv)
        if rc != 0:
            raise avadm_files.FilesError("`%s` failed: %s" % (" ".join(argv), (err or out).strip()))

    def folder(self, wanted):
        """Make a folder, or fix its mode and owner."""
        path, mode = wanted["path"], int(wanted["mode"], 8)
        there = os.path.isdir(path)
        try:
            owner = avadm_files.owner_of(wanted)
        except KeyError:
            if not self.check:
                raise avadm_files.FilesError(
                    "%s has no owner: there is no %s. Remedy: install the package that makes this user or group."
                    % (path, wanted["owner"])
                )
            there = owner = None
        if there and avadm_files.mode_of(path) == mode and avadm_files.owned(path, owner):
            return
        self.actions.append("folder")
        if self.check:
            return
        if not there:
            os.makedirs(path, 0o755)
        if owner:
            os.chown(path, *owner)
        os.chmod(path, mode)

    def put(self):
        """Put what was pushed in its place."""
        pushed = self.given["pushed"]
        if pushed and not self.check:
            avadm_artifact.ensure(self.artifacts, pushed, self.given["login"], False)
        fixed = [one["path"] for one in self.artifacts] if self.fixed else []
        self.files.paths += pushed or list(self.missing) or fixed

    def reread(self):
        """Have systemd read again what was written of units that are not run here, such as those that timers start."""
        units = {unit_of(one["path"]) for one in self.given["files"]} - {"", self.unit}
        units = sorted(unit for unit in units if "@." not in unit)
        if not units or self.check:
            return
        argv = ["systemctl", "show", "-p", "NeedDaemonReload"] + units
        if "NeedDaemonReload=yes" in self.module.run_command(argv)[1]:
            self.actions.append("daemon-reload")
            self.module.run_command(["systemctl", "daemon-reload"])


def known_group(name):
    """Return whether there is a group of this name."""
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True
