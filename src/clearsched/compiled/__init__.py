"""What any simulator's loop is made of: compilation, timing wheel, arena, features, scores.

Nothing here knows a problem: a problem's simulator is compiled from these parts and its own files into one function
without calls back to Python. Generality is paid when it is compiled, never in the loop.
"""
