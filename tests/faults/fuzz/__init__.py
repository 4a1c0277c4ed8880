"""A byte-level mutator over every reader: `python -m tests.faults.fuzz`, from the root of the repository.

A reader is a command that reads one file. Each gets thousands of damaged ones, in a process of its own that is held to
the limits; whatever the file holds, the command must end with exit code 0, or with 2 and one line on stderr, and leave
nothing behind. What fails is kept with all that it takes to run it again.

* `seeds`: sound files to begin with;
* `absurd`, `shapes`, `tables`, `mutating`: what is done to them;
* `readers`: the commands;
* `worker`: the process that runs them;
* `hunting`: the loop, the verdict, what is kept.
"""
