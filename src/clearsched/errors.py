"""The one exception that a user's mistake raises."""


class ClearschedError(Exception):
    """Bad input. Its text is one line: what is wrong, where, and what to do.

    The command line prints that line and exits with code 2; a user never sees a traceback for it.
    """
