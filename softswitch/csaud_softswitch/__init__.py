"""The embedded P4 switch: runs the JSON that p4c makes for BMv2, and speaks P4Runtime.

`csaud_softswitch._core` (C++20) forwards packets; everything a controller or a user talks to is here:
`p4runtime` is the P4Runtime v1 server, `process` the switch process, `fabric_file` and `hosting` a whole
fabric in one process, `exchange` records and replays what a switch did so that two targets can be compared.
"""
