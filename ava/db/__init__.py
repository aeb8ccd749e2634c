"""The database: users, groups, quotas, definitions, runs, charges, messages.

``Database`` has an attribute for each noun (``db.runs``: class ``Runs`` in runs.py). A method of these is one transaction, done
whole or not at all; functions beside them that take a connection are parts of one. Errors are ``ApiError``: 404 for
what does not exist, 409 for what the state does not allow. Times are UTC and given by the caller, so that tests choose them.
Users, groups, queues and pools are known by name, definitions and runs by id. Lists come in pages, newest first.
"""
