"""A server of PostgreSQL on a folder that Patroni knows nothing of: reached by its socket alone, by the user postgres alone."""

import os
import re
import time

from .place import BackupError

LAST = re.compile(r"(?:last completed transaction was at log|recovery stopping [^\n]*,) time ([^\n]+)")
# Not what it tells anyone who comes too early or too late.
ENDED = re.compile(r"(?:FATAL|PANIC):\s+((?!\s|the database system is)[^\n]+)")
RECOVERED = ("restore_command", "recovery_target_time", "recovery_target_action", "recovery_target")
"""What pgbackrest writes into postgresql.auto.conf; a server that was left with it would stop there again."""


def clear(place, *folders):
    """Remove folders of postgres', as postgres."""
    place.as_postgres(["rm", "-rf", "--"] + list(folders), 600)


STOPPED, DOWN = "shutdown at recovery target", "database system is shut down"
"""What its log shows where it stopped at its target; and that it is down."""
GRACE_S = 15


class Scratch:
    """A server on a folder.

    Args:
        place: this node.
        folder: its data.
        run: folder of its socket, log and settings; recreated, and removed by `remove`.
    """

    def __init__(self, place, folder, run):
        self.place, self.folder, self.run = place, folder, run
        self.log = os.path.join(run, "log")

    def prepare(self, settings=None):
        """Write its settings.

        Args:
            settings: more of them, name to value.
        """
        clear(self.place, self.run)
        self.place.as_postgres(["mkdir", "-m", "0700", self.run])
        # As low as the primary's memory may be high: this one is beside a server that works. A standby's limits are looked at
        # only where it answers before it is through.
        own = {
            "listen_addresses": "",
            "unix_socket_directories": self.run,
            "unix_socket_permissions": "0700",
            "port": self.place["port"],
            "ssl": "off",
            "hot_standby": "off",
            "shared_buffers": "64MB",
            "max_connections": "20",
            "max_wal_senders": "0",
            "autovacuum": "off",
            "logging_collector": "off",
            "log_checkpoints": "off",
            "hba_file": os.path.join(self.run, "hba"),
            "ident_file": os.path.join(self.run, "ident"),
            "recovery_target_timeline": "latest",
        }
        own.update(settings or {})
        lines = ["%s = '%s'" % (name, str(value).replace("'", "''")) for name, value in sorted(own.items())]
        for name, text in (("conf", "\n".join(lines)), ("hba", "local all postgres peer"), ("ident", "")):
            path = os.path.join(self.run, name)
            self.place.as_postgres(["tee", path], stdin=text + "\n")

    def argv(self, verb, *words):
        """Return a command of pg_ctl for it."""
        return [
            os.path.join(self.place["bin"], "pg_ctl"),
            verb,
            "--pgdata=" + self.folder,
            "--silent",
        ] + list(words)

    def start(self, timeout, more=""):
        """Start it; it is through its recovery when this returns, or has stopped at its target.

        Args:
            timeout: seconds.
            more: further words for the server.

        Returns:
            Whether it runs.

        Raises:
            BackupError: it did not start; with what its log says.
        """
        conf = "-c config_file=%s %s" % (os.path.join(self.run, "conf"), more)
        # pgbackrest takes WAL only of the folder that it knows; what the server starts gets this folder instead.
        known = ["env", "PGBACKREST_PG1_PATH=" + self.folder]
        try:
            self.place.as_postgres(
                known + self.argv("start", "--no-wait", "--log=" + self.log, "--options=" + conf)
            )
        except BackupError as error:
            raise BackupError("the restored server did not start: %s" % (self.ended() or error)) from None
        begun = time.monotonic()
        while time.monotonic() < begun + timeout:
            if self.place.call(self.argv("status"), 30, None, "postgres")[0] != 0:
                reply = self.log_text()
                if STOPPED in reply and DOWN in reply:
                    return False
                # At first it has not reported yet that it runs.
                if DOWN in reply or self.ended() or time.monotonic() > begun + GRACE_S:
                    raise BackupError(
                        "the restored server ended: %s" % (self.ended() or "its log says nothing")
                    )
            try:
                if self.sql("SELECT pg_is_in_recovery()") == ["f"]:
                    return True
            except BackupError:
                pass
            time.sleep(0.5)
        self.stop()
        raise BackupError("the restored server was not through with its recovery after %d s" % timeout)

    def sql(self, text, database="postgres", timeout=600):
        """Return the lines that it answers."""
        return self.place.sql(text, database, self.run, timeout)

    def stop(self):
        """Stop it where it runs."""
        self.place.call(self.argv("stop", "--mode=fast", "--timeout=120"), 150, None, "postgres")

    def forget_recovery(self):
        """Take out of the running server's own settings what the restore wrote there."""
        for name in RECOVERED:
            self.sql("ALTER SYSTEM RESET %s" % name)

    def log_text(self):
        """Return its log."""
        # As its owner: what lies in a folder of postgres' may be a link to what is root's.
        return self.place.call(["cat", self.log], 30, None, "postgres")[1]

    def ended(self):
        """Return the last words of its log that say why it ended."""
        found = ENDED.findall(self.log_text())
        return "; ".join(found[-2:])

    def last(self):
        """Return when the last change was made that was replayed, as PostgreSQL's log says; "" where there was none."""
        found = LAST.findall(self.log_text())
        return found[-1].strip() if found else ""

    def remove(self):
        """Remove its folders; nothing is left of it."""
        clear(self.place, self.folder, self.run)
