# Runs on nodes: python 2.7 and 3.
"""Debian packages of a node: what is installed, and what is missing in one transaction, without python-apt."""

from __future__ import absolute_import, division, print_function

import fnmatch
import glob
import os
import re
import time

LISTS = "/var/lib/apt/lists"
SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*")
DPKG_UPDATES = "/var/lib/dpkg/updates/[0-9]*"
# Daemons must not ask, translate their messages, or (needrestart) restart other services of the node.
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", "NEEDRESTART_MODE": "l"}
LOCKED = re.compile(r"could not get lock|locked by another process|unable to (acquire|lock)", re.I)
UNREACHABLE = re.compile(r"failed to fetch|could not resolve|unable to connect|cannot initiate", re.I)
UNKNOWN = re.compile(
    r"^E: (Unable to locate package .*|Package .* has no installation candidate|Version .* was not found)$",
    re.M,
)
# Status of the package, its name, architecture and version, and the virtual packages that it provides.
QUERY = "${db:Status-Abbrev}\\t${Package}\\t${Architecture}\\t${Version}\\t${Provides}\\n"


class PackageError(Exception):
    """The packages could not be installed; the text is for people."""


class Packages(object):
    """What dpkg and apt know and do.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        clock: callable() -> seconds; sleep: callable(seconds). Both are replaced in tests.
        root: prefix of the paths that are read, for tests.
    """

    def __init__(self, run, lock_timeout=600, clock=time.time, sleep=time.sleep, root=""):
        self.run = run
        self.lock_timeout = lock_timeout
        self.clock = clock
        self.sleep = sleep
        self.root = root
        self.update_trouble = ""

    def installed(self):
        """Return {name: version} of what is installed (virtual ones with version ""), and broken names."""
        rc, out, err = self.run(["dpkg-query", "-W", "-f", QUERY])
        if rc != 0:
            raise PackageError("dpkg-query failed: %s Remedy: make dpkg work on the node." % tail(err or out))
        versions, virtual, broken = {}, {}, []
        for line in out.splitlines():
            fields = line.split("\t")
            if len(fields) != 5:
                continue
            status, name, arch, version, provides = fields
            if status[1:2] not in ("i", "n", "c") or status[2:3] == "R":
                broken.append(name)
            if status[1:3].strip() != "i":
                continue
            versions[name] = versions["%s:%s" % (name, arch)] = version
            for entry in provides.split(","):
                if entry.strip():
                    virtual[entry.split()[0]] = ""
        virtual.update(versions)
        return virtual, broken

    def lists_age(self):
        """Return the lists' age in seconds; infinite where there are none or a source is newer."""
        if not glob.glob(self.root + LISTS + "/*_*Release*"):
            return float("inf")
        made = os.stat(self.root + LISTS).st_mtime
        for pattern in SOURCES:
            for path in glob.glob(self.root + pattern):
                if os.stat(path).st_mtime > made:
                    return float("inf")
        return max(0.0, self.clock() - made)

    def waiting(self, argv):
        """Run a command, again and again while another process holds the package lock."""
        deadline = self.clock() + self.lock_timeout
        while True:
            rc, out, err = self.run(argv)
            if rc == 0 or not LOCKED.search(out + err):
                return rc, out, err
            if self.clock() >= deadline:
                raise PackageError(
                    "Another process has held the package lock for %d s: %s Remedy: find it with"
                    " `fuser -v /var/lib/dpkg/lock` and let it finish, or raise lock_timeout."
                    % (self.lock_timeout, tail(err or out))
                )
            self.sleep(3)

    def interrupted(self, broken):
        """Return whether a run of dpkg was cut off and left work undone."""
        return bool(broken or glob.glob(self.root + DPKG_UPDATES))

    def repair(self):
        """Finish what an interrupted dpkg left (a killed run, a power cut)."""
        rc, out, err = self.waiting(["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"])
        _versions, broken = self.installed()
        if rc == 0 and not broken:
            return
        # Half-installed packages and missing dependencies are beyond dpkg alone.
        rc, out, err = self.waiting(self.apt_get("install", ["-f"]))
        _versions, broken = self.installed()
        if rc != 0 or broken:
            raise PackageError(
                "An earlier, interrupted installation could not be finished (%s): %s"
                " Remedy: run `dpkg --configure -a` and `apt-get -f install` on the node."
                % (", ".join(broken) or "dpkg", tail(err or out))
            )

    def update(self):
        """Refresh the package lists; trouble is remembered, since what is wanted may be had all the same."""
        rc, out, err = self.waiting(["apt-get", "update", "-q"])
        # apt-get update exits 0 when a source cannot be reached.
        if rc != 0 or re.search(r"^[WE]: .*(Failed to fetch|failed to download)", out + err, re.M):
            self.update_trouble = tail(err or out)
        else:
            self.update_trouble = ""
            # An update that found nothing new leaves the folder's time alone.
            os.utime(self.root + LISTS, None)

    def apt_get(self, verb, arguments):
        """Return the command line of one apt-get."""
        # Old apt ignores options it does not know, DPkg::Lock::Timeout among them; waiting() covers it there.
        return [
            "apt-get",
            verb,
            "-y",
            "-q",
            "--no-install-recommends",
            "-o",
            "DPkg::Lock::Timeout=%d" % self.lock_timeout,
            "-o",
            "Dpkg::Options::=--force-confdef",
            "-o",
            "Dpkg::Options::=--force-confold",
        ] + arguments

    def install(self, missing, update_cache_age, allow_downgrade=False):
        """Install all in one transaction, refreshing the lists before if old, or after a first failure."""
        arguments = (["--allow-downgrades"] if allow_downgrade else []) + ["--"] + missing
        updated = self.lists_age() > update_cache_age
        if updated:
            self.update()
        rc, out, err = self.waiting(self.apt_get("install", arguments))
        if rc != 0 and not updated:
            self.update()
            rc, out, err = self.waiting(self.apt_get("install", arguments))
        if rc != 0:
            raise PackageError(self.explain(missing, out, err))

    def explain(self, missing, out, err):
        """Return why an installation failed and what to do about it."""
        message = out + "\n" + err
        unknown = UNKNOWN.findall(message)
        if self.update_trouble or UNREACHABLE.search(message):
            cause, remedy = (
                "A package source cannot be reached.",
                (
                    "see that packages.proxy and packages.sources of the site file are right and answer from this"
                    " node (`apt-get update`)"
                ),
            )
        elif unknown:
            cause, remedy = (
                "The package sources do not have what is wanted: %s." % "; ".join(unknown),
                (
                    "add the source that has it to packages.sources of the site file, or choose another profile"
                ),
            )
        elif "--allow-downgrades" in message:
            cause, remedy = (
                "What is installed is newer than what is wanted, and nothing is made older unasked.",
                "pin a newer version in the profile, or remove the package there if the older one is really meant",
            )
        elif "No space left" in message or "enough free space" in message:
            cause, remedy = "A file system of the node is full.", "free space on / and /var (`apt-get clean`)"
        else:
            cause = "apt-get install failed."
            remedy = "run `apt-get install %s` on the node and see what it says" % " ".join(missing)
        text = "%s Wanted: %s. apt reported: %s" % (cause, " ".join(missing), tail(err or out))
        if self.update_trouble:
            text += " | apt-get update reported: " + self.update_trouble
        return "%s Remedy: %s." % (text, remedy)


def tail(text, lines=6):
    """Return the last lines of a command's output that say something, on one line."""
    messages = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in messages if line.startswith("E:")]
    return " / ".join((errors or messages)[-lines:])


def split(wanted):
    """Return (name, version or None) of one wanted package."""
    name, _equals, version = wanted.partition("=")
    return name.strip(), version.strip() or None


def satisfied(wanted, versions):
    """Return whether a wanted package is among the installed ones."""
    name, version = split(wanted)
    if name not in versions:
        return False
    return version is None or fnmatch.fnmatchcase(versions[name], version)


def moved(wanted, upgrade):
    """Return the wanted packages, those that are upgraded with the version that they are brought to.

    Raises:
        PackageError: one is upgraded that is not wanted, so that it would be installed where it does not belong.
    """
    wanted = {split(w)[0]: w.strip() for w in wanted if w.strip()}
    strange = sorted(set(upgrade) - set(wanted))
    if strange:
        raise PackageError(
            "Not among the packages here, so not upgraded: %s. Remedy: name packages of the role alone."
            % " ".join(strange)
        )
    wanted.update((name, "%s=%s" % (name, version)) for name, version in upgrade.items())
    return sorted(wanted.values())


def ensure(packages, wanted, update_cache_age, allow_downgrade, check_mode, upgrade=()):
    """Bring the wanted packages about; return the module's result. Raises PackageError.

    Args:
        packages: those of the node.
        wanted: NAME or NAME=VERSION of each.
        update_cache_age: package lists older than this many seconds are refreshed first.
        allow_downgrade: whether a package may be made older.
        check_mode: whether nothing is changed.
        upgrade: package to the version pattern that it is brought to, newer or, where an upgrade is taken back, older.
    """
    wanted = moved(wanted, dict(upgrade))
    allow_downgrade = allow_downgrade or bool(upgrade)
    before, broken = packages.installed()
    missing = [w for w in wanted if not satisfied(w, before)]
    if not missing:
        return result(False, {}, wanted, before, False)
    if check_mode:
        return result(True, {split(w)[0]: split(w)[1] or "" for w in missing}, wanted, before, False)
    repaired = packages.interrupted(broken)
    if repaired:
        packages.repair()
        now = packages.installed()[0]
        still = [w for w in missing if not satisfied(w, now)]
    else:
        still = missing
    if still:
        packages.install(still, update_cache_age, allow_downgrade)
    after, _broken = packages.installed()
    lacking = [w for w in wanted if not satisfied(w, after)]
    if lacking:
        raise PackageError(
            "apt-get succeeded, yet not installed are: %s. Remedy: look at `apt-cache policy %s` on the node."
            % (" ".join(lacking), " ".join(split(w)[0] for w in lacking))
        )
    return result(True, {split(w)[0]: after[split(w)[0]] for w in missing}, wanted, after, repaired)


def result(changed, installed, wanted, versions, repaired):
    """Return the module's result."""
    names = [split(w)[0] for w in wanted]
    return {
        "changed": changed,
        "installed": installed,
        "versions": {n: versions[n] for n in names if n in versions},
        "repaired": repaired,
    }


def packages_of(module, lock_timeout=600):
    """Return the packages of a module's node."""

    def run(argv):
        return module.run_command(argv, environ_update=ENVIRONMENT)

    return Packages(run, lock_timeout)
