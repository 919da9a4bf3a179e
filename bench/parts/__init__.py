"""One module for each part of the benchmark."""
