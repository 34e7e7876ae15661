"""What knows nothing of fabrics: errors for users, signals that end a run, processes, namespaces."""
