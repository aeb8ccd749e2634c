from __future__ import annotations

import pytest

from avadm.cli.nodes import compact, select
from avadm.errors import AvadmError
from avadm.site.model import Site


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["stor2", "stor1", "stor3", "gpu1"], "gpu1, stor1-3"),
        (["a1", "a3"], "a1, a3"),
        (["n09", "n10", "n11"], "n09-11"),
        (["head", "n8", "n9", "n10"], "head, n8-10"),
        ([], ""),
    ],
)
def test_compact(names, short):
    assert compact(names) == short


def test_select_by_name_pattern_and_role():
    nodes = [{"name": f"stor{i}", "address": f"10.0.0.{i}", "roles": ["mon"]} for i in (1, 2, 3)]
    network = {"management": "10.0.0.0/24", "domain": "t.example"}
    site = Site.model_validate({"name": "t", "network": network, "nodes": nodes})
    assert [n.name for n in select(site, "stor2")] == ["stor2"]
    assert [n.name for n in select(site, "stor[13]")] == ["stor1", "stor3"]
    assert len(select(site, "mon")) == 3
    with pytest.raises(AvadmError, match="matches no node"):
        select(site, "stor1,gpu*")
