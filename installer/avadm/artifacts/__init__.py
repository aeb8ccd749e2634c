"""Artifacts (design 5): programs that no package source has, had once from upstream or built, and kept with checksums."""
