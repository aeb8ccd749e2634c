"""What is wrong with a running site: nodes are asked once, many small checks judge what they reported."""
