"""Parts of the cache die under reads: every byte that is read is right, and reads continue when the part is back."""

import time

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LOOP = """end=$(($(date +%s)+{seconds})); wrong=0; failed=0; right=0
while [ $(date +%s) -lt $end ]; do
  for f in {seen}/f*; do
    if sum=$(timeout 30 sha256sum < $f 2>/dev/null); then
      if [ "$sum" = "$(cat {sums}/$(basename $f))" ]; then right=$((right+1)); last=right; else wrong=$((wrong+1)); fi
    else failed=$((failed+1)); last=failed; fi
  done
done; echo $right $wrong $failed $last"""


@pytest.mark.parametrize("part", ["worker", "master"])
def test_nothing_wrong_is_read_while_a_part_is_lost(cache, files, tried, part):
    store, seen = files
    writer = cache.workers[-1]
    cache.sh(writer, f"for i in 1 2 3 4 5 6; do head -c 2M /dev/urandom > {store}/f$i; done")
    sums = "/tmp/avadm-cache-sums"
    listed = cache.sh(writer, f"cd {store} && for f in f*; do echo $f $(sha256sum < $f); done")
    make = "".join(f"echo '{line.split()[1]}  -' > {sums}/{line.split()[0]};" for line in listed.splitlines())
    cache.sh(cache.reader, f"rm -rf {sums}; mkdir -p {sums}; {make}")
    time.sleep(6)
    node = writer if part == "worker" else cache.master
    note = tried(
        f"cache {part}",
        f"avadm-alluxio-{part} is killed under reads",
        "nothing wrong is read; reads continue",
    )
    cache.sh(node, f"nohup sh -c 'sleep 8; systemctl kill -s KILL avadm-alluxio-{part}' >/dev/null 2>&1 &")
    reply = cache.sh(cache.reader, LOOP.format(seconds=60, seen=seen, sums=sums), timeout=240)
    right, wrong, failed, last = reply.split()
    assert int(wrong) == 0
    assert int(right) > 6
    assert last == "right", f"{failed} reads failed"
    assert cache.lab.host(node).service(f"avadm-alluxio-{part}").is_running
    cache.sh(cache.reader, f"rm -rf {sums}")
    assert note
