"""Logs of a run's pods: live from Kubernetes, kept in the site's log stores."""
