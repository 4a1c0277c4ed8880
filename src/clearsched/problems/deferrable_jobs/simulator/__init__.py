"""The simulator: slots of a fixed length, exact in whole millicores (docs/deferrable-jobs.md)."""
