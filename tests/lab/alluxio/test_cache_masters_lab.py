"""`avadm cache masters` on the lab: one to three and back under reads, killed and continued."""

import json
import shlex
import signal
import subprocess
import time

import pytest

from avadm.operations.cache_masters import BACKUP, DROP_IN, ROLE, mounts_of
from avadm.site.load import load
from tests.lab.conftest import seen
from tests.lab.day2.test_node_add_remove import good
from tests.lab.faults.drive import AVADM
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

READS = "/tmp/avadm-cache-reads"
STOP = f"{READS}.stop"
READER = f"""rm -f {STOP}; good=0; bad=0; pause=0; last=$(date +%s)
while [ ! -e {STOP} ]; do
  found="$(timeout 20 cat {{path}} 2>/dev/null)"
  if [ "$found" = {{content}} ]; then
    now=$(date +%s); [ $((now-last)) -gt $pause ] && pause=$((now-last)); last=$now; good=$((good+1))
  elif [ -n "$found" ]; then bad=$((bad+1)); fi; sleep 1
done; echo $good $bad $pause > {READS}"""


@pytest.fixture
def reads(cache, files):
    """A file that is read each second; a function that ends this: right and wrong reads, and the longest pause, s."""
    store, there = files
    cache.sh(cache.workers[-1], f"echo held > {store}/held; rm -f {READS}")
    script = shlex.quote(READER.format(path=f"{there}/held", content="held"))
    cache.sh(cache.reader, f"nohup sh -c {script} > /dev/null 2>&1 &")

    def end():
        cache.sh(cache.reader, f"touch {STOP}")
        until(lambda: cache.lab.run(cache.reader, f"test -s {READS}").returncode == 0, 60)
        return [int(word) for word in cache.sh(cache.reader, f"cat {READS}").split()]

    yield end
    cache.sh(cache.reader, f"touch {STOP}")


@pytest.fixture
def names(cache):
    """The master, and two more nodes that could be one: with cephfs, where a mount is on it."""
    site = load(cache.lab.site_path).site
    able = [n.name for n in site.nodes if "client" in n.roles and n.name != cache.master]
    if len(site.with_role(ROLE)) != 1 or len(able) < 2:
        pytest.skip("needs a cache with one master and two more nodes with the role client")
    return [cache.master, *able[:2]]


def mounts(lab, node):
    return mounts_of(lab.sh(node, "/usr/local/sbin/avadm-alluxio fs mount"))


def whole(names, before):
    """See that these are the masters, with these mounts, and that nothing of the change is left."""
    lab = seen()
    assert {node.name for node in load(lab.site_path).site.with_role(ROLE)} == set(names)
    assert all(lab.sh(name, "systemctl is-active avadm-alluxio-master") for name in names)
    assert mounts(lab, names[0]) == before
    for name in names:
        lab.sh(name, f"! ls {BACKUP} {DROP_IN} 2>/dev/null")
    assert json.loads(good("apply", "--json", "--yes"))["changed"] == 0


def test_one_master_becomes_three_and_one_again_under_reads(cache, names, reads):
    before = mounts(cache.lab, names[0])
    good("cache", "masters", *names, "--yes", "--accept", "cache-mount-in-use")
    whole(names, before)
    good("cache", "masters", names[0], "--yes", "--accept", "cache-mount-in-use")
    whole(names[:1], before)
    right, wrong, pause = reads()
    print(f"{right} reads, longest pause {pause} s")
    assert right > 0
    assert wrong == 0


@pytest.mark.parametrize("seconds", [5, 20, 40, 90])
def test_a_change_that_was_killed_is_continued(cache, names, seconds):
    before = mounts(cache.lab, names[0])
    words = [AVADM, "cache", "masters", *names, "--yes"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    running.send_signal(signal.SIGKILL)
    running.wait()
    good("cache", "masters", *names, "--yes")
    whole(names, before)
    good("cache", "masters", names[0], "--yes")
    whole(names[:1], before)
