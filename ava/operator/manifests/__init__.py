"""Manifests of the Kubernetes objects that the operator creates; pure functions."""
