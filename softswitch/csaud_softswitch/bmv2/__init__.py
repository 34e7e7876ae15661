"""The real simple_switch_grpc, the reference: how it is started, and what only its Thrift service can do."""
