"""What users are told of runs."""


class RunError(RuntimeError):
    """A run cannot be found, be started or go on; the text says why and what to do."""
