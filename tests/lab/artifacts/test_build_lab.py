"""The smallest artifact, built for real, twice: from the module proxy or its cache, with the pinned toolchain."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def avadm(cache, *words):
    env = {**os.environ, "AVADM_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "avadm", "artifacts", *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_an_artifact_is_built_reproducibly_and_damage_is_found(tmp_path):
    caches = tmp_path / "one", tmp_path / "two"
    made = [avadm(cache, "build", "pause", "cni-plugins", "--json")[1]["artifacts"] for cache in caches]
    kept = [[row["cache"]["files"] for row in rows] for rows in made]
    assert kept[0] == kept[1], "the same recipe gives the same bytes"
    assert kept[0][1]["bridge"]["reported"] == "CNI bridge plugin v0.8.7"
    assert avadm(caches[0], "build", "pause", "cni-plugins", "--json")[1]["made"] == []

    assert avadm(caches[0], "verify", "pause", "cni-plugins", "--json")[0] == 0
    program = caches[0] / "artifacts/cni-plugins/0.8.7/bridge"
    with program.open("r+b") as stream:
        stream.seek(1000)
        byte = stream.read(1)
        stream.seek(1000)
        stream.write(bytes([byte[0] ^ 1]))
    code, report = avadm(caches[0], "verify", "pause", "cni-plugins", "--json")
    assert code == 1
    assert [f["check"] for f in report["findings"]] == ["artifact-integrity"]
    assert "bridge" in report["findings"][0]["found"]
