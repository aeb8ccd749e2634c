"""Checksummed work on the storage while something is lost: images by fio's verify, files by filegen."""

import base64
import json
import threading
from contextlib import contextmanager

from avadm_validation.suites.storage.tools import tool_sources

IMAGE = "avadm-fault-verify"
FOLDER = "/mnt/cephfs/avadm-fault-files"
TOOL = "/tmp/avadm-fault-filegen.py"
FIO = (
    f"fio --name=verify --ioengine=rbd --clientname=rbd --pool=rbd --rbdname={IMAGE} --bs=64k --iodepth=4 "
    "--rw=randwrite --size=96M --verify=crc32c --verify_fatal=1 --output-format=json"
)


class Work:
    """Files on cephfs and an image, written while something is lost and compared afterwards.

    Args:
        lab: the lab.
        seconds: how long the writing takes at least.
    """

    def __init__(self, lab, seconds):
        self.lab, self.seconds = lab, seconds
        self.writer, self.reader = lab.names("client")[:2]
        self.results = {}

    def clean(self):
        self.lab.run(
            self.writer, f"rm -rf {FOLDER}; rbd --id rbd rm --no-progress rbd/{IMAGE} 2>&1", timeout=300
        )
        for node in (self.writer, self.reader):
            self.lab.run(node, f"rm -f {TOOL}")

    @contextmanager
    def running(self):
        """Write for the length of the block and longer; raises where a write failed."""
        source = base64.b64encode(tool_sources()["filegen.py"]).decode()
        self.clean()
        for node in (self.writer, self.reader):
            self.lab.sh(node, f"echo {source} | base64 -d > {TOOL}")
        self.lab.sh(self.writer, f"rbd --id rbd create --size 128M rbd/{IMAGE}")
        files = (
            f"python3 {TOOL} create --dir {FOLDER} --client w --size 65536 --fsync --duration {self.seconds}"
        )
        rate = (96 << 10) // self.seconds
        commands = {
            "files": (self.writer, files),
            "image": (self.reader, f"{FIO} --do_verify=0 --rate={rate}k"),
        }
        threads = [threading.Thread(target=self._run, args=(k, *v)) for k, v in commands.items()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for thread in threads:
                thread.join()
        wrong = {k: r.stderr[-500:] for k, r in self.results.items() if r.returncode}
        assert not wrong and self.results.keys() == commands.keys(), wrong
        [self.made] = json.loads(self.results["files"].stdout)["repetitions"]
        assert self.made["error_count"] == 0, self.made["errors"]
        assert sum(self.made["made"]) > 0

    def _run(self, key, node, command):
        self.results[key] = self.lab.run(node, command, timeout=600)

    def compare(self):
        """Read everything back, the files by another client than wrote them; return words for what was compared."""
        n = sum(self.made["made"])
        counts = ",".join(map(str, self.made["made"]))
        read = f"python3 {TOOL} read --verify --dir {FOLDER} --client w --size 65536 --counts {counts}"
        [found] = json.loads(self.lab.sh(self.reader, read, timeout=600))["repetitions"]
        assert (found["error_count"], sum(found["made"])) == (0, n), found["errors"]
        done = self.lab.run(self.writer, f"{FIO} --verify_only=1", timeout=600)
        assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
        return f"{n} files and 96 MiB of an image have the content that was written"

    def longest_pause(self):
        """Return the longest time without a finished file, seconds."""
        longest = pause = 0
        for n in self.made["ticks"]:
            pause = 0 if n else pause + 1
            longest = max(longest, pause)
        return longest * self.made["tick_s"]
