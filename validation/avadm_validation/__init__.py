"""Acceptance: measurement (suites, tools) apart from judgement (criteria, protocol)."""
