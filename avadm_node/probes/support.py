"""What a support bundle takes of a node beside the snapshot: journal, configurations, versions; read-only."""

from __future__ import absolute_import

import glob
import os
import re
import subprocess

KEY = re.compile(r"(\.key|\.pem|keyring|id_[a-z0-9]+|\.p12|shadow.*|.*kubeconfig.*|.*\.vault.*)$")
BIG = 262144  # bytes of one file
COMMANDS = {
    "versions/uname": ["uname", "-a"],
    "versions/os-release": ["cat", "/etc/os-release"],
    "versions/packages": ["dpkg-query", "-W"],
    "state/units": ["systemctl", "list-units", "--all", "--no-pager", "--plain"],
    "state/disks": ["df", "-hT"],
    "state/memory": ["free", "-m"],
    "state/addresses": ["ip", "address"],
    "state/routes": ["ip", "route"],
    "state/listening": ["ss", "-ltn"],
    "state/processes": ["ps", "-eo", "pid,ppid,stat,rss,etime,comm"],
    "state/mounts": ["cat", "/proc/1/mountinfo"],
    "state/containers": ["docker", "ps", "-a", "--format", "{{.Names}} {{.Status}} {{.Image}}"],
    "state/blocks": ["lsblk"],
}


def output(argv, seconds=20):
    """Return what a program says, its errors too; "" where it is not there."""
    environment = dict(os.environ, LC_ALL="C", TZ="UTC")
    try:
        with open(os.devnull) as nothing:
            process = subprocess.Popen(
                ["timeout", "-s", "KILL", str(seconds)] + argv,
                stdin=nothing,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
            )
            return process.communicate()[0].decode("utf-8", "replace")
    except OSError:
        return ""


def extracts(params):
    """Return files by the name that they get in the bundle, and what was left out with the reason."""
    files = dict((name, output(argv)) for name, argv in sorted(COMMANDS.items()))
    left = {}
    for path in sorted(set(p for pattern in params["patterns"] for p in glob.glob(pattern))):
        name = "config" + path
        if KEY.search(os.path.basename(path)):
            left[name] = "a key or what holds one"
        elif not os.path.isfile(path):
            continue
        elif os.path.getsize(path) > BIG:
            left[name] = "larger than %d bytes" % BIG
        else:
            with open(path, "rb") as source:
                data = source.read()
            if b"\0" in data:
                left[name] = "not text"
            elif b"PRIVATE KEY" in data:
                left[name] = "holds a private key"
            else:
                files[name] = data.decode("utf-8", "replace")
    journal = output(["journalctl", "-q", "--no-pager", "-o", "short-iso", "--since=" + params["since"]], 60)
    if len(journal) > params["most"]:
        left["journal.txt, beginning"] = "the last %d of %d bytes are kept" % (params["most"], len(journal))
        journal = journal[-params["most"] :].partition("\n")[2]
    files["journal.txt"] = journal
    return {"files": files, "left_out": left}
