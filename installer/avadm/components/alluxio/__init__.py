"""The component alluxio."""
