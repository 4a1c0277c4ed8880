"""What is scheduled. A problem gives states, candidates, features, a step, a reward and heuristics."""
