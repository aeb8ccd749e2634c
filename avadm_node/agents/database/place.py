"""Where PostgreSQL and its backups are on this node, and how both are asked: always as the user postgres."""

import fcntl
import json
import os
import pwd
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager

SETTINGS = os.environ.get("AVADM_DATABASE_BACKUP", "/etc/avadm/database/backup.json")
SEGMENT = re.compile(r"^[0-9A-F]{24}$")
SEGMENT_BYTES = 16 << 20
"""Size of a segment of WAL: initdb's default."""


class BackupError(Exception):
    """Something could not be done; the text is for people, with the remedy."""


class Place:
    """This node.

    Args:
        settings: name (this member's), stanza, scope, port, hour (UTC), full_days, heartbeat_s; folders: data, bin (PostgreSQL's
            programs), state (what is remembered), metrics (node_exporter's); api (URL of this node's Patroni).
        call: runs a program; for tests.
    """

    def __init__(self, settings, call=None):
        # Ansible's templates make words of numbers.
        numbers = ("port", "hour", "full_days", "heartbeat_s")
        self.settings = dict(settings, **dict((name, int(settings[name])) for name in numbers))
        self.call = call or run

    def __getitem__(self, name):
        return self.settings[name]

    def as_postgres(self, argv, timeout=120, stdin=None):
        """Run a program as postgres, and return its output; BackupError with its own words where it fails."""
        code, out, err = self.call(list(argv), timeout, stdin, "postgres")
        if code != 0:
            reply = " ".join((err.strip() or out.strip()).split())[-1500:]
            raise BackupError("`%s` ended with %d: %s" % (" ".join(argv[:4]), code, reply or "no word"))
        return out

    def pgbackrest(self, *words, **options):
        """Run a command of pgbackrest on the site's stanza."""
        argv = ["pgbackrest", "--stanza=" + self["stanza"]] + list(words)
        return self.as_postgres(argv, options.get("timeout", 300))

    def sql(self, text, database="postgres", socket=None, timeout=60):
        """Return the lines that a server of this node answers its administrator.

        Args:
            text: SQL; it goes by standard input.
            database: where.
            socket: folder of the server's socket; that of the living one where None.
            timeout: seconds.
        """
        argv = ["psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]
        argv += ["--no-password", "--port=%d" % self["port"], "--dbname=" + database]
        if socket:
            argv.append("--host=" + socket)
        # The owner of a database may set where names are looked for first: functions of his would run as the administrator.
        report = self.as_postgres(argv, timeout, "SET search_path = pg_catalog;\n%s\n" % text)
        return report.strip("\n").split("\n") if report.strip("\n") else []

    def role(self):
        """Return what this node's Patroni says that it is: primary, standby, or "" where it does not say."""
        for path, role in (("/primary", "primary"), ("/replica", "standby")):
            status, _ = ask(self["api"] + path)
            if status == 200:
                return role
        return ""

    def members(self):
        """Return how many members Patroni knows; 0 where it does not answer."""
        status, text = ask(self["api"] + "/cluster")
        return len(json.loads(text)["members"]) if status == 200 else 0

    def backups(self):
        """Return what the repository has, as pgbackrest tells it: the newest last.

        Raises:
            BackupError: the repository does not answer, or has nothing of this stanza.
        """
        report = json.loads(self.pgbackrest("info", "--output=json", timeout=120))
        if not report or report[0]["status"]["code"] not in (0, 2):
            text = report[0]["status"]["message"] if report else "nothing"
            raise BackupError(
                "the repository says: %s. Remedy: `avadm apply backups`, and see that the store answers"
                % text
            )
        # Code 2: a stanza without a backup yet.
        return [one for one in report[0]["backup"] if not one.get("error")]

    def remembered(self, name):
        """Return what was remembered under a name; {} where nothing was."""
        try:
            with open(os.path.join(self["state"], name + ".json")) as source:
                found = json.load(source)
            return found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            return {}

    def remember(self, name, data):
        """Remember something under a name."""
        write(os.path.join(self["state"], name + ".json"), json.dumps(data, sort_keys=True) + "\n", 0o640)

    @contextmanager
    def alone(self, name):
        """Hold a lock while something is done that must not be done twice at once; BackupError where another does it."""
        with open(os.path.join(self["state"], name + ".lock"), "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BackupError(
                    "another %s is at work on %s. Remedy: wait for it" % (name, self["name"])
                ) from None
            yield


def settled(path=SETTINGS):
    """Return this node's place; BackupError where nothing of backups is installed."""
    try:
        with open(path) as source:
            return Place(json.load(source))
    except OSError:
        raise BackupError(
            "%s is not there: this site has no backups of PostgreSQL. Remedy: docs/how-to/back-up-and-restore.md"
            % path
        ) from None


def become(user):
    """Make this process one of a user, and what it starts; nothing where it is not root's."""
    if os.geteuid() == 0:
        found = pwd.getpwnam(user)
        os.initgroups(user, found.pw_gid)
        os.setgid(found.pw_gid)
        os.setuid(found.pw_uid)


def run(argv, timeout, stdin=None, user=None):
    """Return exit status, output and errors of a program; all that it started is ended when its time is over.

    Args:
        argv: the program.
        timeout: seconds.
        stdin: text that it is handed.
        user: as whom it runs; as this process' own where None. No session is opened, so nothing is logged of it each time.
    """
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
        preexec_fn=(lambda: become(user)) if user else None,
        env=dict(os.environ, LC_ALL="C.UTF-8"),
    )
    try:
        given = None if stdin is None else stdin.encode("utf-8")
        out, err = process.communicate(given, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return 124, "", "it was not through after %d s" % timeout
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def ask(url, timeout=5, authority="/etc/patroni/ca.crt"):
    """Return status and text of Patroni's answer; 0 and why where there is none."""
    handlers = [urllib.request.ProxyHandler({})]
    if url.startswith("https:"):
        context = ssl.create_default_context(cafile=authority)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    try:
        answer = urllib.request.build_opener(*handlers).open(url, timeout=timeout)
        return answer.getcode(), answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        return 0, str(error) or repr(error)


def write(path, text, mode):
    """Write a file at once and whole."""
    new = "%s.%d.new" % (path, os.getpid())
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)
    os.chmod(new, mode)
    os.rename(new, path)
