"""How the nodes' kernels are booted: the part `boot` of a site file's model."""

from __future__ import annotations

from avadm.site.values import Model


class Boot(Model):
    """How the nodes' kernels are booted."""

    allow_reboot: bool = False
    """Whether `avadm bootstrap` may set the profile's kernel arguments and reboot nodes that lack them, one at a time."""
