"""p4c's test traces (.stf) on the embedded switch: entries and packets in, frames compared, in virtual time.

python -m csaud_softswitch.stf TRACE.stf PROGRAM.json
"""
