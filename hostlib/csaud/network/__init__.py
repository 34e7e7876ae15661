"""What ranks stand on to talk over TCP: addresses, connections, frames, TLS from the job's secret."""
