"""Rules over a whole site file: each takes a Draft and yields findings; none prints, none raises."""
