"""Makes and removes folders of the shared file system, sets and measures their limits, and takes and shows data sets' files."""
