"""What goes wrong in reading switches; commands know it without what reads them."""


class CountersError(RuntimeError):
    """A switch could not be read; the text names it."""


class TlsError(RuntimeError):
    """A certificate or key cannot be read; the text names the key of the fabric file, and the file."""
