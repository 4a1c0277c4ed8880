"""The Gymnasium environments (docs/environment.md)."""
