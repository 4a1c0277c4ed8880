"""A student as a Lua module that requires nothing (LuaJIT: its own ffi)."""

from __future__ import annotations

from collections.abc import Mapping

from clearsched.export.dialect import Dialect, exact
from clearsched.export.functions import WAS, Function, functions_of, helpers_of, taking_over
from clearsched.export.names import renamed
from clearsched.export.program import Guarding, Program, Trees
from clearsched.export.source import Source
from clearsched.export.statements import Return, trees_of

RESERVED = frozenset(
    [
        "and",
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "goto",
        "if",
        "in",
        "local",
        "nil",
        "not",
        "or",
        "repeat",
        "return",
        "then",
        "true",
        "until",
        "while",
    ]
)

FLOAT32 = """-- Rounds to float32, in which the rules were made.
local float32
if string.pack then
    function float32(value)
        return (string.unpack("<f", string.pack("<f", value)))
    end
elseif jit then
    local cell = require("ffi").new("float[1]")
    function float32(value)
        cell[0] = value
        return tonumber(cell[0])
    end
else -- Lua 5.1 and 5.2: 24 bits, and the nearest even number of two that are as near
    function float32(value)
        if value == 0 or value - value ~= 0 then
            return value
        end
        local part, exponent = math.frexp(value)
        local bits = math.min(24, exponent + 149)
        if bits < 0 then
            return 0 * value
        end
        local scaled = part * 2 ^ bits
        local below = math.floor(scaled)
        local rest = scaled - below
        if rest > 0.5 or (rest == 0.5 and below % 2 == 1) then
            below = below + 1
        end
        local rounded = below * 2 ^ (exponent - bits)
        return math.abs(rounded) < 2 ^ 128 and rounded or value * math.huge
    end
end

local function is_finite(value)
    return value - value == 0
end"""

POWER = """local function power(value, exponent)
    return value ^ exponent
end"""

LOG = """-- sign(value) log(1 + |value| / scale); Lua has no log1p, and log(1 + x) alone is not exact for small x.
local function log_of(value, scale)
    local x = math.abs(value) / scale
    local sum = 1.0 + x
    local size = sum == 1.0 and x or math.log(sum) * (x / (sum - 1.0))
    return value >= 0 and size or -size
end"""

LEAST = """-- The least of some products; one that is not a number counts for nothing.
local function least_of(...)
    local least = math.huge
    for _, product in ipairs({...}) do
        if product < least then
            least = product
        end
    end
    return least
end"""


def write(source: Source) -> bytes:
    """The module."""
    program = source.program
    dialect = dialect_of(program, source.units)
    names = ", ".join(f'"{dialect.names.get(feature.name, feature.name)}"' for feature in program.features)
    blocks = [
        "\n".join(dialect.told([*source.header(), "", *source.features()], "")),
        f"local M = {{}}\n\n-- What the rules ask of a candidate.\nM.features = {{{names}}}",
        FLOAT32,
        *helpers_of(program, LEAST, POWER, LOG),
        *(function_of(dialect, function) for function in functions_of(program)),
        _choose(program),
        *([_takes_over(program.guard)] if program.guard else []),
        "return M",
    ]
    return ("\n\n".join(blocks) + "\n").encode()


def dialect_of(program: Program, units: Mapping[str, str]) -> Dialect:
    """The syntax."""
    return Dialect(
        comment="--",
        both=" and ",
        feature="c.{}",
        threshold=exact,
        start="if {} then",
        long=("if", "then"),
        end="end",
        otherwise="else",
        block="do",
        number="local {} = {}",
        text="local {} = {}",
        put="{} = {}",
        add="{0} = {0} {1} {2}",
        once='{0} = {0} == "" and {1} or {0}',
        stop="",
        returns="return {}, {}",
        least=lambda products: f"least_of({', '.join(products)})",
        units=units,
        names=renamed(program.features, RESERVED),
    )


def function_of(dialect: Dialect, function: Function) -> str:
    """A function with a number and what gave it as answers."""
    if isinstance(function.part, Trees):
        return _trees(dialect, function.name, function.part)
    head = f"local function {function.name}({', '.join(['c', *function.given])})"
    return "\n".join([*dialect.told(function.told, ""), head, *dialect.lines(function.body, 1), "end"])


def _trees(dialect: Dialect, name: str, part: Trees) -> str:
    """A function that adds up trees; each tree has one of its own, since functions must not be long."""
    lines = [f"local {name}_trees = {{}}"]
    for place, tree in enumerate(trees_of(part), 1):
        lines += ["", f"-- tree {place} of {len(part.trees)}", f"{name}_trees[{place}] = function(c, score)"]
        lines += [*dialect.lines(tree, 1), "    return score", "end"]
    lines += ["", *dialect.told(part.told, ""), f"local function {name}(c)", "    local score = 0.0"]
    lines += [f"    for _, tree in ipairs({name}_trees) do", "        score = tree(c, score)", "    end"]
    return "\n".join([*lines, *dialect.lines([Return("score", part.name)], 1), "end"])


def _takes_over(guard: Guarding) -> str:
    """The function that tells who decides."""
    told, given, until, above = taking_over(guard, " or ")
    told += ["", *(f"{name}: {meaning}" for name, meaning in given.items())]
    lines = [*(f"-- {line}".rstrip() for line in told), f"function M.takes_over({', '.join(given)})"]
    lines += [f"    if {WAS} then", f"        return {until}", "    end"]
    return "\n".join([*lines, f"    return {above}", "end"])


def _choose(program: Program) -> str:
    """The function that is called."""
    level = program.level is not None
    told = [program.question, "", "candidates: tables with `features`, in the order in which they are offered"]
    given = ["candidates"]
    if level:
        usual = f"; nil: {program.most}" if program.most else ""
        told += [f"most: {program.unit or 'the largest limit'}, in all{usual}"]
        told += ["least: the least limit of each candidate; nil: 1"]
        given += ["most", "least"]
    if program.may_idle:
        told.append(f"none_allowed: whether it is an answer now to {program.idle}; nil: it is")
        given.append("none_allowed")
    told += ["", "Gives a table: candidate, its place from 1 on, or nil where none is chosen; rule"]
    told[-1] += "; limit and limit_rule." if level else "."
    nothing = '{limit = 0, rule = rule, limit_rule = ""}' if level else "{rule = rule}"
    lines = [
        *(f"-- {line}".rstrip() for line in told),
        f"function M.choose({', '.join(given)})",
        '    local best, chosen, most_of_all, rule = nil, nil, 0.0, ""',
        *(["    local top = 0.0"] if program.orders else []),
        "    for i, candidate in ipairs(candidates) do",
        "        local c = {}",
        "        for _, name in ipairs(M.features) do",
        "            c[name] = float32(candidate[name])",
        '            assert(is_finite(c[name]), "candidate " .. i .. ": " .. name .. " is not a finite number")',
        "        end",
        f"        local score, name = score_of_{program.names[0]}(c)",
        '        assert(is_finite(score), "candidate " .. i .. ": its score is not a finite number")',
    ]
    if program.orders:
        lines += [
            "        local place, patch = place_of(c, score)",
            "        if not best or place > top or (place == top and score > most_of_all) then",
            '            best, chosen, most_of_all, rule = i, c, score, patch ~= "" and patch or name',
            "            top = place",
        ]
    else:
        lines += [
            "        if not best or score > most_of_all then",
            "            best, chosen, most_of_all, rule = i, c, score, name",
        ]
    low = "top < 0" if program.orders else "not (most_of_all > 0)"
    idle = f" or (none_allowed ~= false and {low})" if program.may_idle else ""
    lines += ["        end", "    end", f"    if not best{idle} then", f"        return {nothing}", "    end"]
    if level:
        lines += [
            *([f"    most = most or {program.most}"] if program.most else []),
            f"    local share, limit_rule = share_of_{program.names[1]}(chosen)",
            *(["    share, limit_rule = bounded(chosen, share, limit_rule)"] if program.bounds else []),
            '    assert(is_finite(share), "candidate " .. best .. ": its limit is not a finite number")',
            "    local wanted = math.min(math.max(share, 0.0), 1.0) * most",
            f"    local limit = {'math.ceil(wanted - 1e-9)' if program.up else 'math.floor(wanted + 0.5)'}",
            "    limit = math.min(math.max(limit, least and least[best] or 1), most)",
            "    return {candidate = best, limit = limit, rule = rule, limit_rule = limit_rule}",
        ]
    else:
        lines.append("    return {candidate = best, rule = rule}")
    return "\n".join([*lines, "end"])
