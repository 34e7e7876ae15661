"""What knows nothing of fabrics: units, graphs, seeds, YAML whose mistakes are told with file and line, long
computations in an event loop."""
