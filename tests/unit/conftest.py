"""What all unit tests share."""

from hypothesis import settings

# How long one example takes says what else the machine does, not whether it is right.
settings.register_profile("avadm", deadline=None)
settings.load_profile("avadm")
