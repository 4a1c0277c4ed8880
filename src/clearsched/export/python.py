"""A student as a Python module that imports nothing but the standard library."""

from __future__ import annotations

import keyword

from clearsched.export.dialect import Dialect, exact
from clearsched.export.functions import WAS, Function, functions_of, helpers_of, taking_over
from clearsched.export.names import renamed
from clearsched.export.program import Guarding
from clearsched.export.source import Source

RESERVED = (*keyword.kwlist, "count", "index")
"""Names that a field of a tuple cannot have, or better has not."""

IMPORTS = """import math
from array import array
from typing import NamedTuple"""

POWER = '''def power(value, exponent):
    """The power as C's `pow` gives it: infinite or not a number where Python raises an error."""
    try:
        return math.pow(value, exponent)
    except OverflowError:
        return -math.inf if value < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.nan if value else math.inf'''

LOG = '''def log_of(value, scale):
    """sign(value) log(1 + |value| / scale)."""
    return math.copysign(math.log1p(abs(value) / scale), value)'''

LEAST = '''def least_of(*products):
    """The least of some products; one that is not a number counts for nothing."""
    return min(math.inf, *products)'''


def write(source: Source) -> bytes:
    """The module."""
    program = source.program
    dialect = Dialect(
        comment="#",
        both=" and ",
        feature="c.{}",
        threshold=exact,
        start="if {}:",
        long=("if (", "):"),
        end="",
        otherwise="else:",
        block="",
        number="{} = {}",
        text="{} = {}",
        put="{} = {}",
        add="{} {}= {}",
        once="{0} = {0} or {1}",
        stop="",
        returns="return {}, {}",
        least=lambda products: f"least_of({', '.join(products)})",
        units=source.units,
        names=renamed(program.features, RESERVED),
    )
    blocks = [
        *_head(source, dialect),
        _choose(source),
        *(_function(dialect, function) for function in functions_of(program)),
        *helpers_of(program, LEAST, POWER, LOG),
        *([_takes_over(program.guard)] if program.guard else []),
    ]
    return ("\n\n\n".join(blocks) + "\n").encode()


def _takes_over(guard: Guarding) -> str:
    """The function that tells who decides."""
    told, given, until, above = taking_over(guard, " or ")
    lines = [f"def takes_over({', '.join(given)}):"]
    lines += [f'    """{_quoted(told, "    ")}', "", "    Args:"]
    lines += [f"        {name}: {meaning}." for name, meaning in given.items()]
    lines += ['    """', f"    if {WAS}:", f"        return {until}"]
    return "\n".join([*lines, f"    return {above}"])


def _function(dialect: Dialect, function: Function) -> str:
    """A function with a number and what gave it as answers."""
    head = f"def {function.name}({', '.join(['c', *function.given])}):"
    doc = [f'    """{_quoted(function.told, "    ")}"""'] if function.told else []
    return "\n".join([head, *doc, *dialect.lines(function.body, 1)])


def _quoted(lines: tuple[str, ...] | list[str], indent: str) -> str:
    """Lines that may stand in a docstring."""
    return f"\n{indent}".join(lines).replace("\\", "\\\\").replace('"""', "'''").replace(f"\n{indent}\n", "\n\n")


def _head(source: Source, dialect: Dialect) -> list[str]:
    """What stands above the functions."""
    program = source.program
    rows = [
        f"    {dialect.names.get(feature.name, feature.name)}: float" + (f"  # {feature.unit}" if feature.unit else "")
        for feature in program.features
    ]
    candidate = ["class Candidate(NamedTuple):", '    """What the rules ask of a candidate."""', "", *rows]
    told = [
        "class Decision(NamedTuple):",
        '    """What is chosen, and what gave it."""',
        "",
        f"    candidate: int | None  # its place among the candidates; None: {program.idle or 'there is none'}",
        *([f"    limit: int  # {program.unit}; 0 where no candidate is chosen"] if program.level else []),
        "    rule: str  # of the candidate that comes first",
        *(["    limit_rule: str"] if program.level else []),
    ]
    header = [*source.header(), "", *source.features()]
    return [f'"""{_quoted(header, "")}\n"""\n\n{IMPORTS}', "\n".join(candidate), "\n".join(told)]


def _choose(source: Source) -> str:
    """The function that is called."""
    program = source.program
    given, told = ["candidates"], ["candidates: a `Candidate` each, in the order in which they are offered."]
    if program.level:
        given += [f"most={program.most}" if program.most else "most", "least=None"]
        told += [
            f"most: {program.unit or 'the largest limit'}, in all.",
            "least: the least limit of each candidate; None: 1.",
        ]
    if program.may_idle:
        given.append("none_allowed=True")
        told.append(f"none_allowed: whether it is an answer now to {program.idle}.")
    lines = [
        f"def choose({', '.join(given)}):",
        f'    """{_quoted([program.question], "")}',
        "",
        "    Args:",
        *(f"        {line}" for line in told),
        "",
        "    Raises:",
        "        ValueError: a feature or a score is not a finite number.",
        '    """',
        '    best, rule, chosen = None, "", None',
        "    for number, candidate in enumerate(candidates):",
        '        c = Candidate(*array("f", candidate))  # rounded to float32, in which the rules were made',
        f"        score, name = score_of_{program.names[0]}(c)",
        "        if not all(map(math.isfinite, (*c, score))):",
        '            raise ValueError(f"candidate {number}: a feature or the score is not a finite number")',
    ]
    nothing, limits = (
        ', 0, rule, ""' if program.level else ", rule",
        ", limit, rule, limit_rule" if program.level else ", rule",
    )
    if program.orders:
        lines += [
            "        place, patch = place_of(c, score)",
            "        if best is None or place > top or (place == top and score > most_of_all):",
            "            best, top, most_of_all, rule, chosen = number, place, score, patch or name, c",
        ]
    else:
        lines += [
            "        if best is None or score > most_of_all:",
            "            best, most_of_all, rule, chosen = number, score, name, c",
        ]
    low = "top < 0" if program.orders else "not most_of_all > 0"
    lines.append(f"    if best is None{f' or (none_allowed and {low})' if program.may_idle else ''}:")
    lines.append(f"        return Decision(None{nothing})")
    if program.level:
        lines += [
            f"    share, limit_rule = share_of_{program.names[1]}(chosen)",
            *(["    share, limit_rule = bounded(chosen, share, limit_rule)"] if program.bounds else []),
            "    if not math.isfinite(share):",
            '        raise ValueError(f"candidate {best}: its limit is not a finite number")',
            "    wanted = min(max(share, 0.0), 1.0) * most",
            "    limit = math.ceil(wanted - 1e-9)" if program.up else "    limit = math.floor(wanted + 0.5)",
            "    limit = min(max(limit, least[best] if least is not None else 1), most)",
        ]
    lines.append(f"    return Decision(best{limits})")
    return "\n".join(lines)
