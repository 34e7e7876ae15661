"""P4Runtime v1 on top of the native core.

`device.Device` is one switch as P4Runtime sees it, without any transport; `server` puts it behind gRPC.
"""
