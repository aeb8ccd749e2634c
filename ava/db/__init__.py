"""The database: users, groups, quotas, definitions, runs, charges, messages.

A method of ``Database`` is one transaction, done whole or not at all. Errors are ``ava.domain.problems.ApiError``: 404 for
what does not exist, 409 for what the state does not allow. Times are UTC and given by the caller, so that tests choose them.
Users, groups, queues and pools are known by name, definitions and runs by id. Lists come in pages, newest first.
"""
