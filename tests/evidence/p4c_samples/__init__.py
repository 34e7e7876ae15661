"""p4c's v1model samples on the embedded switch and on simple_switch_grpc."""
