"""What is said to switches over P4Runtime: sessions, tables written and read, counters and queues."""
