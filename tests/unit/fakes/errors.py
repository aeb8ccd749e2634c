"""What is stated where something is refused."""

import pytest

from avadm.errors import AvadmError


def refused(call, *given, **more):
    """Return the findings with which something is refused; the first is mostly the only one."""
    with pytest.raises(AvadmError) as caught:
        call(*given, **more)
    return caught.value.findings
