"""The component grafana."""
