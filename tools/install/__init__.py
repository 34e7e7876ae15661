"""What `make build` and `make dev` do: Debian packages, Python packages and the native code, with progress.

Runs before anything is installed, so it needs nothing but the standard library.
"""
