"""Load K: a write through the API's virtual address every 0.3 s, and requests to a service of two replicas with a budget."""

import contextlib
import time
import uuid
from functools import partial

from tests.lab.day2.loads.load import Load
from tests.lab.day2.loads.on_node import FIRST_S, steady
from tests.lab.kubernetes.conftest import Kube, registry_of
from tests.lab.kubernetes.probe import Api, Writer
from tests.lab.kubernetes.web import PATH, web
from tests.lab.waiting import until

REQUEST_S = 0.2
"""Time between two requests to the service, seconds."""
TIMEOUT_S = 3
REPLICAS_LEFT = 1
"""Replicas that the budget wants: one at a time may be evicted."""


def kubernetes(lab, away=()):
    """Return the load of a lab with Kubernetes.

    Args:
        lab: the lab.
        away: nodes that will lose power: requests to the service come from none of them.
    """
    kube = Kube(lab)
    client = next(name for name in kube.nodes() if name not in away)
    asked = next(name for name in lab.names("master") if name not in away)
    return Load(
        "K",
        {"api": partial(api, Kube(lab, asked), away), "service": partial(service, Kube(lab, asked), client)},
    )


@contextlib.contextmanager
def namespace(kube):
    """Have a namespace; its objects go with it."""
    name = f"load-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {name}")
    try:
        yield name
    finally:
        kube.ctl(f"delete namespace {name}")


@contextlib.contextmanager
def api(kube, away, stream):
    """Write ConfigMaps from this machine through the virtual address; every master that is not away has to have all."""
    lab = kube.lab
    kubeconfig = lab.site_path.with_suffix(".kubeconfig")
    with namespace(kube) as space:
        writer = Writer(Api(kubeconfig), space)
        stream.began = time.time()
        try:
            with writer:
                until(lambda: len(writer.kept) >= 3, FIRST_S, report=lambda: writer.errors[-3:])
                yield
        finally:
            seen(writer, stream)
        for master in (name for name in lab.names("master") if name not in away):
            stream.lost += [
                f"{master}: {name}" for name in writer.lost(Api(kubeconfig, address(lab, master)))
            ]


def address(lab, node):
    """Return a node's address as text."""
    return str(lab.node(node)["address"])


def seen(writer, stream):
    """Take what a writer saw, whose times are those of the monotonic clock, into a stream."""
    stream.end()
    offset = time.time() - time.monotonic()
    for name, at in zip(writer.kept, writer.good, strict=True):
        stream.acknowledge(name, at + offset)
    for text in writer.errors:
        stream.fail(text)


@contextlib.contextmanager
def service(kube, client, stream):
    """Request a service of two replicas from a node."""
    with (
        namespace(kube) as space,
        web(kube, registry_of(kube.lab), space, REPLICAS_LEFT) as found,
        steady(
            kube.lab,
            client,
            stream,
            kind="requests",
            url=f"http://{found}{PATH}",
            every=REQUEST_S,
            timeout=TIMEOUT_S,
        ),
    ):
        yield
