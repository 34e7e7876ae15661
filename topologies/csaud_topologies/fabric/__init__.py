"""A fabric under Mininet: nodes, cables and switches of a target, brought up and taken down."""
