"""What the doctor asks of PostgreSQL's backups."""

from __future__ import absolute_import

import json

from .system import LONG_LINE


def database_backup(params):
    """What this node reported last of PostgreSQL's backups: its metrics, and what the last verification found to be wrong."""
    values, wrong = {}, []
    try:
        with open(params["backup"]["metrics"] + "/avadm-database.prom") as source:
            lines = [line.split() for line in source if line.startswith("avadm_database_")]
        values = dict((words[0][len("avadm_database_") :], float(words[1])) for words in lines)
        with open(params["backup"]["state"] + "/verify.json") as source:
            wrong = json.load(source).get("wrong", [])
    except (EnvironmentError, ValueError, IndexError):
        pass
    return {"values": values, "wrong": [str(line)[:LONG_LINE] for line in wrong]}
