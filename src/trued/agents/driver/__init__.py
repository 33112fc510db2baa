"""What all runtimes share: how a program is started for an order, listened to, and held to its contract."""
