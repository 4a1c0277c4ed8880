"""A student as a C file (C11) that needs nothing but the C library."""

from __future__ import annotations

from collections.abc import Sequence

from clearsched.export.dialect import Dialect, shortest
from clearsched.export.functions import WAS, Function, functions_of, helpers_of, taking_over
from clearsched.export.names import renamed
from clearsched.export.program import Guarding, Program
from clearsched.export.source import Source
from clearsched.export.statements import RULE, SCORE, SHARE

RESERVED = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
    ]
)

POWER = """// Through a pointer, so that no compiler puts anything else, such as a square root, in place of `pow`.
static double (*const volatile power)(double, double) = pow;"""

LOG = """// sign(value) log(1 + |value| / scale)
static double log_of(double value, double scale)
{
    const double size = log1p(fabs(value) / scale);
    return value >= 0 ? size : -size;
}"""

LEAST = """// One that is not a number counts for nothing.
static double lesser(double least, double product)
{
    return product < least ? product : least;
}"""

SCORED = """// A number, and what gave it.
struct scored {
    double value;
    const char *rule;
};"""


TYPES = {SCORE: "double ", SHARE: "double ", RULE: "const char *"}
"""Of variables."""


def write(source: Source) -> bytes:
    """The file."""
    program, name = source.program, source.identifier()
    dialect = Dialect(
        comment="//",
        both=" && ",
        feature="c->{}",
        threshold=lambda value: f"{shortest(value)}f",
        start="if ({}) {{",
        long=("if (", ") {"),
        end="}",
        otherwise="} else {",
        block="{",
        number="double {} = {}",
        text="const char *{} = {}",
        put="{} = {}",
        add="{} {}= {}",
        once="{0} = *{0} ? {0} : {1}",
        stop=";",
        returns="return (struct scored){{{}, {}}}",
        least=_least,
        units=source.units,
        names=renamed(program.features, RESERVED),
    )
    blocks = [
        *_declared(source, dialect, name),
        f"#ifndef {name.upper()}_DECLARATIONS\n\n#include <math.h>\n\n{SCORED}",
        *helpers_of(program, LEAST, POWER, LOG),
        *(_function(dialect, function, name) for function in functions_of(program)),
        _finite(program, dialect, name),
        _choose(program, name),
        *([_takes_over(program.guard, name)] if program.guard else []),
        "#endif",
    ]
    return ("\n\n".join(blocks) + "\n").encode()


def _least(products: Sequence[str]) -> str:
    least = "INFINITY"
    for product in products:
        least = f"lesser({least}, {product})"
    return least


def _function(dialect: Dialect, function: Function, name: str) -> str:
    """A function with a number and what gave it as answer."""
    body = dialect.lines(function.body, 1)
    code = "\n".join(line.partition("//")[0] for line in body)
    used = {"c": "c->"}
    unused = [word for word in ("c", *function.given) if used.get(word, word) not in code]
    given = [f"const struct {name}_candidate *c", *(f"{TYPES[word]}{word}" for word in function.given)]
    return "\n".join(
        [
            *dialect.told(function.told, ""),
            f"static struct scored {function.name}({', '.join(given)})",
            "{",
            *(f"    (void){word};" for word in unused),
            *body,
            "}",
        ]
    )


def _declared(source: Source, dialect: Dialect, name: str) -> list[str]:
    """What callers see."""
    program, guard = source.program, f"{name.upper()}_C"
    lines = [*source.header(), ""]
    lines += [
        f"Compile: cc -std=c11 -O2 -c {source.out.name}, and link with -lm. For the declarations alone, elsewhere:",
        f"  #define {name.upper()}_DECLARATIONS",
        f'  #include "{source.out.name}"',
        "",
    ]
    head = [f" * {line}".rstrip() for line in [*lines, *source.features()]]
    rows = [
        f"    float {dialect.names.get(f.name, f.name)};" + (f"  // {f.unit}" if f.unit else "")
        for f in program.features
    ]
    rows = rows or ["    float unused;  // the rules ask for nothing"]
    level = program.level is not None
    return [
        "\n".join(["/*", *(line.replace("*/", "* /") for line in head), " */", f"#ifndef {guard}", f"#define {guard}"]),
        "\n".join(["// What the rules ask of a candidate.", f"struct {name}_candidate {{", *rows, "};"]),
        f"enum {{\n    {name}_NONE = -1,  // {program.idle or 'there is no candidate'}\n"
        f"    {name}_INVALID = -2  // a feature or a score is not a finite number\n}};",
        "\n".join(
            [
                "// What is chosen, and what gave it.",
                f"struct {name}_decision {{",
                f"    int candidate;  // its place, {name}_NONE or {name}_INVALID",
                *([f"    int limit;  // {program.unit}; 0 where no candidate is chosen"] if level else []),
                "    const char *rule;  // of the candidate that comes first",
                *(["    const char *limit_rule;"] if level else []),
                "};",
            ]
        ),
        "\n".join([*(f"// {line}".rstrip() for line in _told(program)), f"{_signature(program, name)};"]),
        *([_guard_declared(program.guard, name)] if program.guard else []),
        "#endif",
    ]


def _guard_declared(guard: Guarding, name: str) -> str:
    """What callers see of the function that tells who decides."""
    told, given, *_ = taking_over(guard, " || ")
    told += ["", *(f"{gauge}: {meaning}" for gauge, meaning in given.items())]
    return "\n".join([*(f"// {line}".rstrip() for line in told), f"{_guard_signature(guard, name)};"])


def _guard_signature(guard: Guarding, name: str) -> str:
    given = [f"int {WAS}", *(f"double {gauge.name}" for gauge in guard.gauges)]
    return f"int {name}_takes_over({', '.join(given)})"


def _takes_over(guard: Guarding, name: str) -> str:
    """The function that tells who decides."""
    *_, until, above = taking_over(guard, " || ")
    return "\n".join([_guard_signature(guard, name), "{", f"    return {WAS} ? {until} : {above};", "}"])


def _told(program: Program) -> list[str]:
    """What the function does that is called."""
    lines = [program.question, "", "candidates, count: in the order in which they are offered"]
    if program.level:
        usual = f", as in training {program.most}" if program.most else ""
        lines += [f"most: {program.unit or 'the largest limit'}, in all{usual}"]
        lines += ["least: the least limit of each candidate; NULL: 1"]
    return lines + ([f"none_allowed: whether it is an answer now to {program.idle}"] if program.may_idle else [])


def _signature(program: Program, name: str) -> str:
    given = [f"const struct {name}_candidate *candidates", "int count"]
    given += ["int most", "const int *least"] if program.level else []
    given += ["int none_allowed"] if program.may_idle else []
    return f"struct {name}_decision {name}_choose({', '.join(given)})"


def _finite(program: Program, dialect: Dialect, name: str) -> str:
    """Whether a candidate has numbers that are finite: 0 times another one is not 0."""
    terms = [f"{dialect.column(feature.name)} * 0.0f" for feature in program.features]
    lines = ["    " + (" + ".join(terms[i : i + 3])) for i in range(0, len(terms), 3)]
    told = "\n        + ".join(line.strip() for line in lines) or "0.0f"
    return (
        f"static int is_finite(const struct {name}_candidate *c)\n{{\n"
        + ("" if terms else "    (void)c;\n")
        + f"    return {told} == 0.0f;\n}}"
    )


def _choose(program: Program, name: str) -> str:
    """The function that is called."""
    level, none = program.level is not None, f"{name}_NONE"
    empty = ', 0, "", ""' if level else ', ""'
    lines = [
        _signature(program, name),
        "{",
        f"    const struct {name}_decision invalid = {{{name}_INVALID{empty}}};",
        f"    struct {name}_decision chosen = {{{none}{empty}}};",
        f"    int best = {none};",
        "    double most_of_all = 0.0;",
        *(["    double top = 0.0;"] if program.orders else []),
        "    for (int i = 0; i < count; i++) {",
        f"        const struct scored scored = score_of_{program.names[0]}(&candidates[i]);",
        "        if (!is_finite(&candidates[i]) || !isfinite(scored.value))",
        "            return invalid;",
    ]
    if program.orders:
        lines += [
            "        const struct scored placed = place_of(&candidates[i], scored.value);",
            "        if (best < 0 || placed.value > top || (placed.value == top && scored.value > most_of_all)) {",
            "            top = placed.value;",
            "            chosen.rule = *placed.rule ? placed.rule : scored.rule;",
        ]
    else:
        lines += [
            "        if (best < 0 || scored.value > most_of_all) {",
            "            chosen.rule = scored.rule;",
        ]
    lines += ["            best = i;", "            most_of_all = scored.value;", "        }", "    }"]
    low = "top < 0.0" if program.orders else "!(most_of_all > 0.0)"
    lines += [
        f"    if (best < 0{f' || (none_allowed && {low})' if program.may_idle else ''})",
        "        return chosen;",
    ]
    if level:
        lines += [
            f"    struct scored share = share_of_{program.names[1]}(&candidates[best]);",
            *(["    share = bounded(&candidates[best], share.value, share.rule);"] if program.bounds else []),
            "    if (!isfinite(share.value))",
            "        return invalid;",
            "    const double wanted = fmin(fmax(share.value, 0.0), 1.0) * most;",
            f"    const int limit = (int){'ceil(wanted - 1e-9)' if program.up else 'floor(wanted + 0.5)'};",
            "    const int lowest = least ? least[best] : 1;",
            "    chosen.limit = limit < lowest ? lowest : limit;",
            "    chosen.limit = chosen.limit > most ? most : chosen.limit;",
            "    chosen.limit_rule = share.rule;",
        ]
    return "\n".join([*lines, "    chosen.candidate = best;", "    return chosen;", "}"])
