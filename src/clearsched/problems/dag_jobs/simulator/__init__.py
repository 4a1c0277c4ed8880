"""The simulator: what happens to the executors between two decisions (docs/simulator.md)."""
