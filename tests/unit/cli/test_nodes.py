import pytest

from avadm.cli.nodes import compact, select
from avadm.errors import AvadmError
from tests.unit.fakes.sites import node, site


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
    one = site(*(node(f"stor{i}", i, "mon") for i in (1, 2, 3)))
    assert [n.name for n in select(one, "stor2")] == ["stor2"]
    assert [n.name for n in select(one, "stor[13]")] == ["stor1", "stor3"]
    assert len(select(one, "mon")) == 3
    with pytest.raises(AvadmError, match="matches no node"):
        select(one, "stor1,gpu*")
