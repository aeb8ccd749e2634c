"""All components of a site, and what follows from them together: who listens where, who runs what.

A component is a folder here. Its module ``component`` holds ``COMPONENT``; modules whose names begin with ``options``,
``rules``, ``variables`` and ``checks`` hold its part of the site file, the rules over it, the Ansible variables and the
doctor's checks. They are found by these names: nothing lists them. Files ``alerts*.yml`` and modules ``dashboard*`` are
found by ``scripts/generate``, which writes them into the roles prometheus and grafana.

A ``variables`` module has ``render``, and where it needs them ``require`` (secrets that the user has to give) and
``keep_files`` (files beside the site file).
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from ipaddress import IPv4Address
from pkgutil import iter_modules
from types import ModuleType

import avadm.components
from avadm.components.model import EVERYWHERE, Component, Daemon, Phase, Port, Upgradable, Virtual
from avadm.site.model import Node, Site


def _folders() -> list[tuple[str, Component]]:
    """Return each component with the name of its package: first those that others need, else in alphabetical order."""
    root = avadm.components
    names = [one.name for one in iter_modules(root.__path__) if one.ispkg]
    found = {name: import_module(f"{root.__name__}.{name}.component").COMPONENT for name in names}
    by_phase = {component.phase.name: name for name, component in found.items()}
    sorter = TopologicalSorter({name: [by_phase[n] for n in c.phase.needs] for name, c in found.items()})
    sorter.prepare()
    order: list[tuple[str, Component]] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += [(name, found[name]) for name in ready]
        sorter.done(*ready)
    return order


_FOLDERS = _folders()


def modules(kind: str) -> list[ModuleType]:
    """Return the modules of all components whose names begin with a kind (``variables``), in the components' order."""
    return [
        import_module(f"{folder.__name__}.{module.name}")
        for name, _ in _FOLDERS
        for folder in [import_module(f"{avadm.components.__name__}.{name}")]
        for module in iter_modules(folder.__path__)
        if module.name.split("_")[0] == kind
    ]


COMPONENTS: tuple[Component, ...] = tuple(component for _, component in _FOLDERS)
"""In an order in which they can be installed."""
PHASES: tuple[Phase, ...] = tuple(component.phase for component in COMPONENTS)
BY_FOLDER = dict(_FOLDERS)
"""Name of its folder, which its modules elsewhere are named after, to component."""
BY_NAME = {component.name: component for component in COMPONENTS}
UPGRADES: dict[str, tuple[Component, Upgradable]] = {u.name: (c, u) for c in COMPONENTS for u in c.upgrades}
"""What `avadm upgrade` knows, by name, with the component whose phase installs it."""


def given(site: Site) -> dict[str, tuple[str, ...]]:
    """Return node to the duties that it has beside its roles in the site file; nodes without any are left out."""
    # A site does not change, and every node is asked for: with 256 nodes once is enough.
    if not _LAST or _LAST[0][0] is not site:
        _LAST[:] = [(site, _given(site))]
    return _LAST[0][1]


_LAST: list[tuple[Site, dict[str, tuple[str, ...]]]] = []


def _given(site: Site) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for component in COMPONENTS:
        for duty, nodes_of in component.duties.items():
            for node in nodes_of(site):
                found[node.name] = (*found.get(node.name, ()), duty)
    return found


def duties(site: Site, node: Node) -> set[str]:
    """Return all duties of a node: its roles, what components place on it, and what every node has."""
    return {EVERYWHERE, *node.roles, *given(site).get(node.name, ())}


def listeners(site: Site, node: Node) -> Iterator[tuple[int, Port]]:
    """Yield each port on which something listens on a node, with its number there (of a range the first)."""
    own = duties(site, node)
    for component in COMPONENTS:
        for port in component.ports:
            if port.duty in own and (number := port.of(site)) is not None:
                yield number, port


def taken(site: Site, node: Node) -> dict[int, str]:
    """Return TCP port to the program that shall own it on a node."""
    return {n: p.program for n, p in listeners(site, node) if p.taken and p.protocol == "tcp"}


def held(site: Site) -> list[tuple[Virtual, IPv4Address]]:
    """Return the virtual addresses that the site's nodes hold."""
    known = [component.virtual for component in COMPONENTS if component.virtual]
    return [(one, address) for one in known if (address := one.address(site))]


def always(site: Site, node: Node) -> tuple[int, ...]:
    """Return the TCP ports of a node on which something must listen, sorted."""
    return tuple(sorted({n for n, p in listeners(site, node) if p.always}))


def daemons(site: Site, node: Node) -> Iterator[Daemon]:
    """Yield what of systemd is stopped and started on a node with the whole site."""
    own = duties(site, node)
    for component in COMPONENTS:
        yield from (one for one in component.daemons if own & set(one.duties))
