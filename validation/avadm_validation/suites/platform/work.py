"""What the suite runs: small trainings that tell which cards they have and do nothing else."""

from __future__ import annotations

from typing import Any

CPU, MEMORY = 20, 32 << 20
"""What a pod asks for: thousandths of a core, bytes."""
SMALL: dict[str, Any] = {"cpu": CPU, "memory": MEMORY}
HANGS = "/srv"
"""A folder of the image: where a mount that hangs is put over, and what the program ``hung`` looks into."""
_TELL = (
    "import glob, os, signal, sys, time\n"
    "print('cards', os.environ.get('NVIDIA_VISIBLE_DEVICES', ''), *sorted(glob.glob('/dev/nvidia[0-9]*')), flush=True)\n"
)
PROGRAMS = {
    "short": "",
    "graceful": "signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))\nwhile True: time.sleep(3600)\n",
    "deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(3600)\n",
    "hung": (
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))\n"
        f"while True:\n  try: os.stat('{HANGS}/x')\n  except OSError: pass\n  time.sleep(0.2)\n"
    ),
}
"""Name to what it does: ends at once; ends on SIGTERM; never hears it; looks into a folder again and again; takes 256
MiB; starts a process that does, and continues; works without end, and tells its longest pause."""
PROGRAMS["dead"] = PROGRAMS["graceful"]
_TAKE = "x = b'x' * (256 << 20)"
PROGRAMS |= {
    "hog": f"print('taking', flush=True)\n{_TAKE}\ntime.sleep(60)\n",
    "parent": (
        "import subprocess\n"
        f"child = subprocess.run([sys.executable, '-c', {_TAKE!r}])\n"
        "print('child', child.returncode, flush=True)\n"
        "for n in range(10**6):\n  print('alive', n, flush=True)\n  time.sleep(2)\n"
    ),
    "beat": (
        "import json\nworst, last, printed = 0.0, time.time(), time.time()\nwhile True:\n  time.sleep(0.01)\n"
        "  now = time.time()\n  worst, last = max(worst, now - last), now\n"
        "  if now > printed + 1: printed = now; print(json.dumps({'worst_gap_s': round(worst, 4)}), flush=True)\n"
    ),
}


LINES = 8
"""Lines that the program ``tell`` writes."""
PROGRAMS |= {
    "tell": f"for n in range({LINES}):\n  print('line', n, time.time(), flush=True)\n  time.sleep(0.5)\n",
    # Its arguments: groups. It writes its mark into each folder that is there and keeps what it found.
    "folders": (
        "import json\n"
        "base, mark, each, opened = '/groups', os.urandom(8).hex(), {}, []\n"
        "for group in sys.argv[1:]:\n"
        "  folder, seen = os.path.join(base, group), each.setdefault(group, {})\n"
        "  try:\n"
        "    os.listdir(folder); opened.append(group)\n"
        "    about = os.stat(folder); seen.update(mode=about.st_mode & 0o7777, gid=about.st_gid)\n"
        "    path = os.path.join(folder, 'avadm-accept')\n"
        "    if os.path.exists(path): seen['found'] = open(path).read()\n"
        "    with open(path, 'w') as file: file.write(mark); file.flush(); os.fsync(file.fileno())\n"
        "    seen['read'] = open(path).read()\n"
        "  except OSError as error: seen['error'] = str(error)\n"
        "there = os.listdir(base) if os.path.isdir(base) else []\n"
        "print(json.dumps({'mark': mark, 'there': there, 'opened': opened, 'each': each}), flush=True)\n"
    ),
}


def role(gpu: int = 0, name: str = "worker", **more: Any) -> dict[str, Any]:
    """Return a role of one pod with so many GPUs."""
    return {"name": name, "each": {**SMALL, **({"gpu": gpu} if gpu else {})}, **more}


def command(kind: str) -> list[str]:
    """Return the command that runs one of the programs."""
    return ["python3", "-c", _TELL + PROGRAMS[kind]]


def spec(image: str, kind: str, *roles: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a training that runs one of the programs."""
    return {
        "image": image,
        "command": command(kind),
        "roles": list(roles),
        **more,
    }
