"""Pictures of DAG jobs; those that any problem has are in `clearsched.figures`."""
