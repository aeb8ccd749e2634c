"""Volumes of pods: made and removed, mounted, and kept off nodes that cannot mount them. Python 3.5 or later."""
