"""Pictures of this problem alone."""
