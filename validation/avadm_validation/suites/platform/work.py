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
"""Name to what it does: ends at once; ends when it is told to; never hears it; looks into a folder again and again."""
PROGRAMS["dead"] = PROGRAMS["graceful"]


def role(gpu: int = 0, name: str = "worker", **more: Any) -> dict[str, Any]:
    """Return a role of one pod with so many GPUs."""
    return {"name": name, "each": {**SMALL, **({"gpu": gpu} if gpu else {})}, **more}


def spec(image: str, kind: str, *roles: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a training that runs one of the programs."""
    return {
        "image": image,
        "command": ["python3", "-c", _TELL + PROGRAMS[kind]],
        "roles": list(roles),
        **more,
    }
