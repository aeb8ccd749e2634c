"""The objects suite: the S3 store (I3), looked at from client nodes with a library that is not ours."""
