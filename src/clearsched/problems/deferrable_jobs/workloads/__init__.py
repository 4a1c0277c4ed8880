"""The episodes of every split: what on-demand work leaves, which jobs arrive, and when."""
