"""The pages, one file per concern; each calls the same services as the API and has its looks in templates."""

from __future__ import annotations

from ava.web.pages import (
    account,
    audit,
    auth,
    charts,
    client,
    cluster,
    data_sets,
    definitions,
    groups,
    home,
    images,
    keys_and_tokens,
    new_run,
    queues,
    runs,
    usage,
    users,
)

ALL = (
    home,
    auth,
    runs,
    charts,
    definitions,
    new_run,
    cluster,
    data_sets,
    images,
    groups,
    queues,
    users,
    usage,
    audit,
    account,
    keys_and_tokens,
    client,
)
