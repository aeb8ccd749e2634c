"""avadm-database look | backup [full|diff] | list | verify [--anywhere|--if-turn] | restore STEP: backups of PostgreSQL.

`look` is called by a timer: it tells metrics, and has a backup made where one is due. The others' last line is JSON.
"""

import argparse
import json
import subprocess
import sys

from . import backup, look, restore, verify
from .place import BackupError, settled

UNIT = "avadm-database-backup.service"


def asked(argv):
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="avadm-database", description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb")
    verbs.required = True
    verbs.add_parser("look", help="tell metrics; begin a backup where one is due")
    made = verbs.add_parser("backup", help="make a backup; on the primary")
    made.add_argument("kind", nargs="?", choices=["full", "diff"])
    verbs.add_parser("list", help="list the backups, and from when to when a restore is possible")
    proof = verbs.add_parser(
        "verify", help="restore the newest backup beside the living server, and look at it"
    )
    proof.add_argument("--anywhere", action="store_true", help="on the primary too")
    proof.add_argument("--if-turn", action="store_true", help="only where no other member is to do it")
    steps = verbs.add_parser(
        "restore", help="one step of a restore; `avadm database restore` goes through them"
    )
    steps.add_argument(
        "step", choices=["prepare", "role", "leader", "stop", "finish", "forget", "first", "copy"]
    )
    steps.add_argument("target", nargs="?", default="")
    return parser.parse_args(argv)


def done(place, given):
    """Do what is asked; return what is reported of it."""
    if given.verb == "backup":
        return backup.make(place, given.kind or "")
    if given.verb == "list":
        return listed(place)
    if given.verb == "verify":
        return verify.verify(place, given.anywhere, lambda line: print(line, flush=True))
    steps = {
        "prepare": lambda: restore.prepare(place, given.target),
        "role": lambda: {"role": place.role()},
        "leader": lambda: {"leader": restore.leader(place)},
        "stop": lambda: restore.stop(place),
        "finish": lambda: restore.finish(place),
        "forget": lambda: restore.forget(place),
        "first": lambda: restore.start(place, False),
        "copy": lambda: restore.start(place, True),
    }
    return steps[given.step]()


def listed(place):
    """Return the backups, and what is between them: from when on a restore is possible."""
    reports = [
        {
            "label": one["label"],
            "type": one["type"],
            "start": one["timestamp"]["start"],
            "stop": one["timestamp"]["stop"],
            "bytes": one["info"]["size"],
            "stored_bytes": one["info"]["repository"].get("delta", 0),
            "timeline": look.timeline(one),
        }
        for one in place.backups()
    ]
    return {"backups": reports}


def main(argv=None):
    """Run the command line; return the exit status: 1 where something was found to be wrong, 2 where it could not be done."""
    given = asked(sys.argv[1:] if argv is None else argv)
    try:
        place = settled()
        if given.verb == "look":
            why = look.look(place)
            if why:
                print("A backup is due: %s." % why, flush=True)
                subprocess.check_call(["systemctl", "start", "--no-block", UNIT])
            return 0
        if given.verb == "verify" and given.if_turn:
            if place.role() == "primary" and place.members() > 1:
                return 0
            given.anywhere = True
        report = done(place, given)
    except BackupError as error:
        print("avadm-database: %s" % error, file=sys.stderr)
        return 2
    print(json.dumps(report, sort_keys=True))
    return 1 if given.verb == "verify" and not report["good"] else 0
