"""`python -m csaud_controller run ...`: the controller process without the csaud command."""

from csaud_controller.cli.controller import app

app(prog_name="csaud controller")
