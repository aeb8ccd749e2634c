"""Hunting secrets: every form one may have, and a watch over all processes while something runs.

Secrets reach shells by their standard input only, so that the hunt itself leaves none behind.
"""

import base64
import binascii
import contextlib
import subprocess
import tempfile

from avadm.site.vault import Vault

# Looks at each process's arguments and environment until it is ended. This machine sees the processes in the lab's nodes too.
WATCH = """
keys() { printf '%s\\n' "$p"; }
p=$(cat)
while [ $SECONDS -lt 1800 ]; do
  for f in $(grep -lasF -f <(keys) /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null); do
    echo "${f##*/} of $(cat ${f%/*}/comm 2>/dev/null) $f"
  done
  sleep 0.3
done
"""
# A process of a node that does have a secret; by its argument it is found again.
PLANTED = "read -r p; export PLANTED=$p; exec sleep 1801"


class Hidden(str):
    """A text that a failing test does not print."""

    __slots__ = ()

    def __repr__(self):
        return "<secrets>"


def forms(secret):
    """Return how a secret may be written: as it is, in base64, in hexadecimal; of a base64 key also its bytes in hex."""
    raw = [secret.encode()]
    with contextlib.suppress(binascii.Error):
        raw.append(base64.b64decode(secret, validate=True))
    texts = {secret} | {base64.b64encode(b).decode().rstrip("=") for b in raw[:1]} | {b.hex() for b in raw}
    return texts | {t.upper() for t in texts if t != secret and set(t) <= set("0123456789abcdef")}


def needles(site_path):
    """Return every form of every secret of the site's vault, a line each; of a key in PEM each line of its content."""
    # The fsid is an identifier that ceph prints everywhere, not a key.
    secrets = [v for v in Vault.open(site_path).values() if len(v) > 12 and v.count("-") != 4]
    assert len(secrets) > 5
    lines = {line for secret in secrets for form in forms(secret) for line in form.splitlines()}
    # An empty line would be found everywhere, and the first one of PEM in each certificate's key.
    return Hidden("\n".join(sorted(line for line in lines if len(line) > 12 and line[:5] != "-----")) + "\n")


@contextlib.contextmanager
def watched(lab, wanted):
    """While the block runs, watch all processes for secrets; gives a list that holds what was found after the block.

    Two processes are planted that have one, here and on a node: that the watch finds them is asserted.
    """
    found = []
    node = lab.names("mon")[0]
    first = wanted.splitlines()[0]
    with tempfile.TemporaryFile("w+") as notes, contextlib.ExitStack() as stack:
        here = subprocess.Popen(["sleep", "1801"], env={"PLANTED": first})
        stack.callback(_end, here)
        there = _fed([*lab.argv(node), PLANTED], first + "\n")
        stack.callback(lab.run, node, "pkill -x -f 'sleep 1801'")
        stack.callback(_end, there)
        watch = _fed(["bash", "-c", WATCH], wanted, stdout=notes)
        stack.callback(_end, watch)
        yield found
        assert watch.poll() is None, "the watch ended before what it watched"
        notes.seek(0)
        found += sorted(set(notes.read().splitlines()))
    planted = [line for line in found if line.startswith("environ of sleep ")]
    assert len(planted) == 2, f"the watch does not see what has a secret: {found}"
    found[:] = [line for line in found if line not in planted]


def _fed(argv, text, **options):
    """Start a program with a text on its standard input."""
    started = subprocess.Popen(argv, stdin=subprocess.PIPE, text=True, **options)
    started.stdin.write(text)
    started.stdin.close()
    return started


def _end(process):
    process.kill()
    process.wait()
