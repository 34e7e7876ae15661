"""`python -m csaud`: the command where it is not on PATH."""

from csaud.cli import main

main()
