"""What the tests of the P4 program run on: one way to talk to a switch, whichever it is.

A test is written against `Leaf` and does not know its target. `soft` and `bmv2` are chosen by pytest;
tests/ptf runs the same tests by PTF, on whatever its dataplane is connected to.
"""
