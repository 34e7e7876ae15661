"""`csaud switch shell`: p4runtime-shell, an IPython shell of others, on a running switch.

It pins versions of protobuf and IPython that the rest of the project cannot live with, so it runs in a
virtual environment of its own (`environment`), with `inside` as its main program (`command` starts it).
"""
