"""Acceptance at a site: `avadm accept`, what it measures there, and the report. A distribution of its own, avadm-acceptance."""
