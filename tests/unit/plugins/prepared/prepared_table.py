"""Runs inside.py, and writes what came of it as the table of evidence/prepared-devices.md.

usage, as root: python tests/unit/plugins/prepared/prepared_table.py
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from prepared_devices import DEVICES, how

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PAGE = ROOT / "evidence/prepared-devices.md"
BEGIN = "<!-- prepared devices: written by tests/unit/plugins/prepared/prepared_table.py -->\n"
END = "<!-- end of prepared devices -->\n"
TOOLS = ("losetup", "unshare", "addpart", "delpart", "mkfs.ext4", "swapon", "wipefs", "blkid", "lsblk")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]


def run(folder: Path) -> dict:
    """Prepare the devices, let the installer look at them, and return the outcome."""
    argv = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    paths = os.pathsep.join([str(ROOT / "installer"), str(ROOT / "validation"), str(ROOT)])
    done = subprocess.run(
        [*argv, sys.executable, str(HERE / "inside.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def answers(result: dict) -> dict[str, str]:
    """Return what the role that makes OSDs reported of each device; "" where it accepted it."""
    at_once = [name for name, device in DEVICES.items() if device.state != "later"]
    report = {n: "; ".join(d["reasons"]) for n, d in zip(at_once, result["refused"]["devices"], strict=True)}
    later = dict(
        re.findall(r"by_id \S*/scsi-TEST_(\w+) \(\S+?\): (.*?)(?=; by_id |\.$)", result["made"]["msg"])
    )
    if not later:
        raise RuntimeError(
            f"the role should have reported the devices that changed: {result['made']['msg']!r}"
        )
    report.update(later)
    return {name: report.get(name, "") for name in DEVICES}


def same(text: str) -> str:
    """Return a text without what differs from run to run."""
    text = re.sub(r"/\S*/([\w-]+)(?= \(seen by)", r"/…/\1", text)
    text = re.sub(r"\S*/([\w-]+\.img)", r"\1", text)
    text = re.sub(r"loop\d+", "loopN", text)
    text = re.sub(r"\b7:\d+", "7:N", text)
    text = re.sub(r"(mounted on )\S*/", r"\1/…/", text)
    text = re.sub(r"(UUID=)\S+ ?", "", text)
    return re.sub(r"pid \d+", "pid N", text)


def table(result: dict) -> str:
    """Return the table in Markdown."""
    lines = ["| device | made by | the role's answer | preflight's |", "| --- | --- | --- | --- |"]
    for name, reply in answers(result).items():
        device = DEVICES[name]
        early = "; ".join(result["preflight"][name])
        early = re.sub(
            r"^(It is not proven that the device is blank|The device is in use by something else)\. ",
            "",
            early,
        )
        verdict = f"refused: {same(reply)}" if reply else "**accepted**"
        early = "the same" if early and same(early) in same(reply) else same(early)
        lines.append(f"| {device.title} | {how(device)} | {verdict} | {early or 'nothing against it'} |")
    return "\n".join(lines) + "\n"


def page(result: dict) -> str:
    """Return the page as it should be."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + "\n" + table(result) + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(page(run(Path(scratch))))
