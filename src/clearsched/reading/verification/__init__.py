"""Verification of a student: what can never fire, which way its scores go, how long a candidate may wait."""
