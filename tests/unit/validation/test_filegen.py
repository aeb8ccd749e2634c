"""The tool that makes and reads files: what a reader may use of what the writers left."""

import time
from types import SimpleNamespace

import pytest

from avadm_validation.tools import filegen


@pytest.mark.parametrize(("made", "wanted"), [(30, [3, 3, 3, 3, 3]), (31, [3, 3, 3, 3, 4]), (300, [30] * 5)])
def test_a_reader_that_is_faster_than_the_writers_were_leaves_every_window_its_share(made, wanted):
    args = SimpleNamespace(
        op="read",
        dir="/none",
        layout="own",
        writers=f"c1={made}",
        readers="c1,c2",
        reader="c2",
        procs=2,
        duration=60.0,
        warmup=0.0,
        size=1,
        verify=False,
    )
    tried, content = [], SimpleNamespace(make=lambda key, size: b"")
    for left in range(5, 0, -1):
        # None of the files is there: a failed read counts as tried, and takes no time.
        tried.append(filegen.worker(args, content, 0, 0, time.time(), sum(tried), left)["tried"])
    assert tried == wanted
