"""A student as a class of Java 17 that imports nothing."""

from __future__ import annotations

from clearsched.export.dialect import Dialect, shortest
from clearsched.export.functions import WAS, Function, functions_of, helpers_of, taking_over
from clearsched.export.names import renamed
from clearsched.export.program import Guarding, Program, Trees
from clearsched.export.source import Source
from clearsched.export.statements import RULE, SCORE, SHARE, Return, trees_of

RESERVED = frozenset(
    [
        "abstract",
        "assert",
        "boolean",
        "break",
        "byte",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extends",
        "false",
        "final",
        "finally",
        "float",
        "for",
        "goto",
        "if",
        "implements",
        "import",
        "instanceof",
        "int",
        "interface",
        "long",
        "native",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "short",
        "static",
        "strictfp",
        "super",
        "switch",
        "synchronized",
        "this",
        "throw",
        "throws",
        "transient",
        "true",
        "try",
        "void",
        "volatile",
        "while",
        "_",
        "clone",
        "finalize",
        "getClass",
        "hashCode",
        "notify",
        "notifyAll",
        "toString",
        "wait",
    ]
)

POWER = """/** As C's `pow`, but for the last digit. */
private static double power(double value, double exponent) {
    return Math.pow(value, exponent);
}"""

LOG = """/** sign(value) log(1 + |value| / scale). */
private static double log_of(double value, double scale) {
    final double size = Math.log1p(Math.abs(value) / scale);
    return value >= 0 ? size : -size;
}"""

LEAST = """/** The least of some products; one that is not a number counts for nothing. */
private static double least_of(double... products) {
    double least = Double.POSITIVE_INFINITY;
    for (double product : products) {
        least = product < least ? product : least;
    }
    return least;
}"""

SCORED = """/** A number, and what gave it. */
private record Scored(double value, String rule) {
}"""


TYPES = {SCORE: "double", SHARE: "double", RULE: "String"}
"""Of variables."""


def write(source: Source) -> bytes:
    """The class."""
    program, name = source.program, source.identifier(RESERVED)
    dialect = Dialect(
        comment="//",
        both=" && ",
        feature="c.{}",
        threshold=lambda value: f"{shortest(value)}f",
        start="if ({}) {{",
        long=("if (", ") {"),
        end="}",
        otherwise="} else {",
        block="{",
        number="double {} = {}",
        text="String {} = {}",
        put="{} = {}",
        add="{} {}= {}",
        once="{0} = {0}.isEmpty() ? {1} : {0}",
        stop=";",
        returns="return new Scored({}, {})",
        least=lambda products: f"least_of({', '.join(products)})",
        units=source.units,
        names=renamed(program.features, RESERVED),
    )
    blocks = [
        *_records(program, dialect),
        _choose(program),
        *(_function(dialect, function) for function in functions_of(program)),
        _finite(program, dialect),
        SCORED,
        *helpers_of(program, LEAST, POWER, LOG),
        *([_takes_over(program.guard)] if program.guard else []),
    ]
    head = [f" * {line}".rstrip() for line in [*source.header(), "", *source.features()]]
    body = "\n\n".join(blocks).replace("\n", "\n    ").replace("\n    \n", "\n\n")
    lines = ["/*", *(line.replace("*/", "* /") for line in head), " */", f"public final class {name} {{"]
    return ("\n".join([*lines, f"    private {name}() {{\n    }}\n", f"    {body}", "}"]) + "\n").encode()


def _function(dialect: Dialect, function: Function) -> str:
    """A method with a number and what gave it as answer."""
    if isinstance(function.part, Trees):
        return _trees(dialect, function.name, function.part)
    given = ["Candidate c", *(f"{TYPES[word]} {word}" for word in function.given)]
    head = f"private static Scored {function.name}({', '.join(given)}) {{"
    return "\n".join([*dialect.told(function.told, ""), head, *dialect.lines(function.body, 1), "}"])


def _trees(dialect: Dialect, name: str, part: Trees) -> str:
    """A method that adds up trees; each tree has one of its own, since methods must not be long."""
    methods, lines = [], ["double score = 0.0;"]
    for place, tree in enumerate(trees_of(part), 1):
        head = [f"/** Tree {place} of {len(part.trees)}. */", f"private static double {name}_{place}(Candidate c) {{"]
        body = ["    double score = 0.0;", *dialect.lines(tree, 1), "    return score;", "}"]
        methods.append("\n".join([*head, *body]))
        lines.append(f"score += {name}_{place}(c);")
    lines.append(dialect.lines([Return("score", part.name)], 0)[0])
    head = [*dialect.told(part.told, ""), f"private static Scored {name}(Candidate c) {{"]
    return "\n\n".join(["\n".join([*head, *(f"    {line}" for line in lines), "}"]), *methods])


def _records(program: Program, dialect: Dialect) -> list[str]:
    """What goes in and what comes out."""
    features = [
        f"float {dialect.names.get(f.name, f.name)}{',' * (place < len(program.features))}"
        + (f"  // {f.unit}" if f.unit else "")
        for place, f in enumerate(program.features, 1)
    ]
    rows = "".join(f"\n        {row}" for row in features)
    idle = program.idle or "there is no candidate"
    level = f",\n        int limit,  // {program.unit}; 0 where no candidate is chosen" if program.level else ","
    last = ",\n        String limit_rule" if program.level else ""
    return [
        f"/** In place of a candidate: {idle}. */\npublic static final int NONE = -1;",
        f"/** What the rules ask of a candidate. */\npublic record Candidate({rows}\n) {{\n}}",
        "/** What is chosen, and what gave it. */\npublic record Decision("
        f"\n        int candidate{level}\n        String rule{last}\n) {{\n}}",
    ]


def _takes_over(guard: Guarding) -> str:
    """The method that tells who decides."""
    told, given, until, above = taking_over(guard, " || ")
    types = {name: "boolean" if name == WAS else "double" for name in given}
    told += ["", *(f"@param {name} {meaning}" for name, meaning in given.items())]
    lines = ["/**", *(f" * {line}".rstrip() for line in told), " */"]
    lines += [f"public static boolean takesOver({', '.join(f'{kind} {name}' for name, kind in types.items())}) {{"]
    return "\n".join([*lines, f"    return {WAS} ? {until} : {above};", "}"])


def _choose(program: Program) -> str:
    """The method that is called."""
    level = program.level is not None
    told = [program.question, "", "@param candidates in the order in which they are offered"]
    given = ["Candidate[] candidates"]
    if level:
        usual = f", as in training {program.most}" if program.most else ""
        told += [f"@param most {program.unit or 'the largest limit'}, in all{usual}"]
        told += ["@param least the least limit of each candidate; null: 1"]
        given += ["int most", "int[] least"]
    if program.may_idle:
        told.append(f"@param noneAllowed whether it is an answer now to {program.idle}")
        given.append("boolean noneAllowed")
    told.append("@throws ArithmeticException a feature or a score is not a finite number")
    nothing = 'new Decision(NONE, 0, rule, "")' if level else "new Decision(NONE, rule)"
    lines = [
        f"public static Decision choose({', '.join(given)}) {{",
        "    int best = NONE;",
        "    double most_of_all = 0.0;",
        *(["    double top = 0.0;"] if program.orders else []),
        '    String rule = "";',
        "    for (int i = 0; i < candidates.length; i++) {",
        f"        final Scored scored = score_of_{program.names[0]}(candidates[i]);",
        "        if (!isFinite(candidates[i]) || !Double.isFinite(scored.value)) {",
        '            throw new ArithmeticException("candidate " + i + ": a feature or the score is not finite");',
        "        }",
    ]
    if program.orders:
        lines += [
            "        final Scored placed = place_of(candidates[i], scored.value);",
            "        if (best < 0 || placed.value > top || (placed.value == top && scored.value > most_of_all)) {",
            "            top = placed.value;",
            "            rule = placed.rule.isEmpty() ? scored.rule : placed.rule;",
        ]
    else:
        lines += ["        if (best < 0 || scored.value > most_of_all) {", "            rule = scored.rule;"]
    lines += ["            best = i;", "            most_of_all = scored.value;", "        }", "    }"]
    low = "top < 0.0" if program.orders else "!(most_of_all > 0.0)"
    idle = f" || (noneAllowed && {low})" if program.may_idle else ""
    lines += [f"    if (best < 0{idle}) {{", f"        return {nothing};", "    }"]
    if level:
        lines += [
            f"    Scored share = share_of_{program.names[1]}(candidates[best]);",
            *(["    share = bounded(candidates[best], share.value, share.rule);"] if program.bounds else []),
            "    if (!Double.isFinite(share.value)) {",
            '        throw new ArithmeticException("candidate " + best + ": its limit is not finite");',
            "    }",
            "    final double wanted = Math.min(Math.max(share.value, 0.0), 1.0) * most;",
            f"    int limit = (int) {'Math.ceil(wanted - 1e-9)' if program.up else 'Math.floor(wanted + 0.5)'};",
            "    limit = Math.min(Math.max(limit, least == null ? 1 : least[best]), most);",
            "    return new Decision(best, limit, rule, share.rule);",
        ]
    else:
        lines.append("    return new Decision(best, rule);")
    doc = ["/**", *(f" * {line}".rstrip() for line in told), " */"]
    return "\n".join([*doc, *lines, "}"])


def _finite(program: Program, dialect: Dialect) -> str:
    tests = [f"Float.isFinite({dialect.column(feature.name)})" for feature in program.features] or ["true"]
    return "\n".join(
        ["private static boolean isFinite(Candidate c) {", "    return " + "\n            && ".join(tests) + ";", "}"]
    )
