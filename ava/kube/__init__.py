"""A thin client of Kubernetes' API, level 1.9 and newer."""
