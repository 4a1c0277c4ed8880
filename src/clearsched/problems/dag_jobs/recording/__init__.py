"""What happened in an episode: Parquet tables, a Chrome trace, which executor ran which task (docs/recording.md)."""
