"""The platform's users, groups and quotas from a file, by its API's client; the one place of avadm that knows that."""
