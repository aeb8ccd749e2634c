"""Words for what the database has codes for; each is translated where it is shown."""

from __future__ import annotations

from ava.web.i18n import N_

STATES = {
    "queued": N_("Queued"),
    "starting": N_("Starting"),
    "running": N_("Running"),
    "stopping": N_("Stopping"),
    "unknown": N_("Unknown"),
    "succeeded": N_("Succeeded"),
    "failed": N_("Failed"),
    "stopped": N_("Stopped"),
    "aborted": N_("Aborted"),
    "timed-out": N_("Timed out"),
    "lost": N_("Lost"),
    "active": N_("Active"),
    "pending": N_("Pending approval"),
    "disabled": N_("Disabled"),
    "there": N_("There"),
    "not-there": N_("Not there"),
    "not-known": N_("Not known yet"),
    "done": N_("Done"),
    "refused": N_("Refused"),
}
TONES = {
    "queued": "wait",
    "starting": "wait",
    "pending": "wait",
    "running": "good",
    "active": "good",
    "succeeded": "good",
    "done": "good",
    "there": "good",
    "not-there": "bad",
    "not-known": "wait",
    "stopping": "wait",
    "failed": "bad",
    "aborted": "bad",
    "lost": "bad",
    "timed-out": "bad",
    "refused": "bad",
    "disabled": "bad",
}
"""Which colour goes with a state; the others have none."""
KINDS = {"training": N_("Training"), "workbench": N_("Workbench"), "service": N_("Service")}
PLURALS = {"training": "trainings", "workbench": "workbenches", "service": "services"}
"""Where the pages of a kind are."""
MANY = {"training": N_("Trainings"), "workbench": N_("Workbenches"), "service": N_("Services")}
NEW = {"training": N_("New training"), "workbench": N_("New workbench"), "service": N_("New service")}
PHASES = {"queued": N_("Queued"), "admitted": N_("At work"), "finished": N_("Ended")}
POD_PHASES = {
    "Pending": N_("Starting"),
    "Running": N_("Running"),
    "Succeeded": N_("Succeeded"),
    "Failed": N_("Failed"),
    "Unknown": N_("Unknown"),
    "Terminating": N_("Stopping"),
}
POD_TONES = {
    "Running": "good",
    "Succeeded": "good",
    "Failed": "bad",
    "Pending": "wait",
    "Terminating": "wait",
}
POLICIES = {
    "restart-run": N_("Start the whole run again"),
    "restart-pod": N_("Start this pod again"),
    "abort": N_("End the run"),
    "delete": N_("End the run and remove its pods at once"),
}
LIKES = {"single": N_("One pod"), "tensorflow": "TensorFlow", "mpi": "MPI / Horovod"}
"""Kinds of training that the form knows."""
SOURCES = {
    "folder": N_("A folder of its own"),
    "cache": N_("Through the cache"),
    "rbd": N_("Snapshot of a block image"),
    "nfs": "NFS",
    "hdfs": "HDFS",
}
"""Where a data set's files lie."""
ABOUT_SOURCES = {
    "folder": N_(
        "Made empty in the shared file system; you fill it by uploads, or by a run that may write to it."
    ),
    "cache": N_(
        "What Alluxio shows at a path, such as the prefix of an S3 bucket: read-only, and what was read stays near the nodes."
    ),
    "rbd": N_("A snapshot of a block image with ext4, in the pool of pods' volumes: read-only."),
    "nfs": N_("A folder of an NFS server that the site allows: read-only."),
    "hdfs": N_(
        "A folder of an HDFS that the site has behind its cache: read-only, and what was read stays near the nodes."
    ),
}
SOURCE_FIELDS = {
    "path": N_("Path"),
    "image": N_("Block image"),
    "snapshot": N_("Snapshot"),
    "server": N_("Server"),
    "store": "HDFS",
}
SOURCE_HINTS = {
    ("cache", "path"): N_("As Alluxio names it, without / at the beginning: s3/faces."),
    ("rbd", "image"): N_("Its name in the pool, such as faces."),
    ("rbd", "snapshot"): N_("Its name, such as v1. It cannot be removed while the data set is there."),
    ("hdfs", "store"): N_("The name under which the site has it."),
    ("hdfs", "path"): N_("Below what the site has of it, without / at the beginning; empty: all of it."),
    ("nfs", "server"): N_("Its name or address; the site file says which are allowed."),
    ("nfs", "path"): N_("From the server's root: /export/faces."),
}
DONE = {
    "started": N_("It is started."),
    "stored": N_("It is stored."),
    "deleted": N_("It is deleted."),
    "stopped": N_("Its end is asked for."),
    "saved": N_("It is saved."),
    "password": N_("The password is changed; every other login has ended."),
    "ended": N_("It has ended."),
    "approved": N_("The account is approved."),
    "registered": N_("The account is asked for. Log in once an administrator has approved it."),
    "agreed": N_("Agreed: the run is ended when the notice is over."),
    "scaled": N_("It is scaled; replicas come as the quota has room for them."),
    "shared": N_("It is shared."),
    "confirmation-sent": N_("A link is on its way to the e-mail address; it is good for three days."),
    "confirmed": N_("Your e-mail address is confirmed."),
    "chosen": N_("Your password is set. Log in with it."),
    "unshared": N_("It is no longer shared; runs that have it keep it until they end."),
    "out": N_("You are logged out."),
}
"""What a page says that was done before; nothing else can be put there by an address."""
