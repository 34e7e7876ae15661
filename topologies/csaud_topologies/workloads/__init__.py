"""What the workers of a job do: each workload is a module here, and its spec is in `specs.py`."""
