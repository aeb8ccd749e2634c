"""The pages, one file per concern; each asks the API's own functions and says in its templates how it looks."""

from __future__ import annotations

from ava.web.pages import (
    account,
    audit,
    charts,
    client,
    cluster,
    data_sets,
    definitions,
    enter,
    groups,
    home,
    images,
    make,
    queues,
    runs,
    secrets,
    usage,
    users,
)

ALL = (
    home,
    enter,
    runs,
    charts,
    definitions,
    make,
    cluster,
    data_sets,
    images,
    groups,
    queues,
    users,
    usage,
    audit,
    account,
    secrets,
    client,
)
