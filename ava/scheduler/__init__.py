"""Admission of runs by quota and queue, and placement of their pods."""
