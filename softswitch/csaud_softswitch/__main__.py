"""`python -m csaud_softswitch ARGS`: the same as `csaud switch run ARGS`."""

import typer

from csaud_softswitch.cli import SimpleSwitchCommand, run

if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command(cls=SimpleSwitchCommand)(run)
    app()
