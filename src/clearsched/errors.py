"""The exceptions that a user's mistake raises."""


class ClearschedError(Exception):
    """Bad input. Its text is one line: what is wrong, where, and what to do.

    The command line prints that line and exits with code 2; a user never sees a traceback for it.
    """


def in_a_line(error: Exception) -> str:
    """What an exception of which nothing was known beforehand comes to: the first line of its text, and its type."""
    return f"{(str(error).splitlines() or [''])[0][:200]} ({type(error).__name__})"


class TraceError(ClearschedError):
    """A trace that cannot be simulated: no profile, no stage, no duration."""


class WorkloadError(ClearschedError):
    """An episode that cannot be simulated: no job, no executor, arrivals out of order."""


class ActionError(ClearschedError):
    """An answer that a pending decision does not allow. Its text begins with the number of the decision."""


class FeatureError(ClearschedError):
    """A feature that is not a finite number. Its text begins with the number of the decision."""
