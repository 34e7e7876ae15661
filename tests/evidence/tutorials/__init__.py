"""The solution programs of p4lang/tutorials on the embedded switch and on simple_switch_grpc."""
