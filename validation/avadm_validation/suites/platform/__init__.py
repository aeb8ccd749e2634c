"""The platform suite (A-SC*, A-OT*): where trainings go, how soon GPUs are free again, who is charged; through its interface."""

# They register the functions that reports name.
from avadm_validation.suites.platform import (  # noqa: F401
    extract,
    extract_isolation,
    extract_logs,
    extract_stops,
    extract_view,
)
