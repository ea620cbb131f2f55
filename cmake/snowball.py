"""Translates Snowball's stemmers into C++ (CMake runs it: core.cmake).

    snowball.py --from DIR --to DIR    each stemmer of the package snowballstemmer, unpacked in DIR, becomes one .cpp

Snowball compiles its algorithms to many languages. Its C output is not available from pip, but its Python output is,
and has a small and regular form: classes with constants, tables of suffixes, and methods of assignments, conditions,
loops and jumps (`raise lab0()` to the end of a `try`). Each form has one translation here, and any other form is an
error, so a version is translated completely or not at all. The generated code uses cpp/src/text/snowball_word.hpp;
tests compare its stems with those of the C library. Standard library only: this runs in bare build environments. An
unchanged file is not rewritten.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

HEAD = """// Translated by cmake/snowball.py from {source} of the package snowballstemmer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/snowball_word.hpp"

namespace scrubjay::text::snowball {{
namespace {{
"""
CURSORS = {"cursor", "limit", "limit_backward", "bra", "ket"}
KINDS = {"B": "flags", "I": "numbers", "S": "slices"}
LOCALS = {"B": "bool", "I": "int32_t", "S": "std::u32string"}
OPERATORS: dict[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Add: "+", ast.Sub: "-", ast.Or: "||", ast.And: "&&", ast.Not: "!", ast.USub: "-",
}  # fmt: skip
VERBS = {
    f"{verb}{way}"
    for verb in ("in_grouping", "out_grouping", "go_in_grouping", "go_out_grouping", "eq_s", "find_among")
    for way in ("", "_b")
} | {"slice_from", "slice_del", "slice_to", "insert"}


class UnknownFormError(Exception):
    """A Python construct that this translator does not support."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)[:200]}")


def letters(text: str, prefix: str, quote: str) -> str:
    """A C++ literal. All letters must be single UTF-16 units, as tables and literals require."""
    written = []
    for letter in text:
        if ord(letter) > 0xFFFF or 0xD800 <= ord(letter) < 0xE000:
            raise ValueError(f"a letter beyond the basic plane: {letter!r}")
        plain = " " <= letter <= "~" and letter not in "\\\"'"
        written.append(letter if plain else f"\\u{ord(letter):04X}" if letter > "~" else f"\\{letter}")
    return prefix + quote + "".join(written) + quote


def integer(node: ast.AST) -> int:
    value = ast.literal_eval(node)  # type: ignore[arg-type]
    if type(value) is not int:
        raise UnknownFormError(node)
    return value


class Routine:
    """Translates one method into a function."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self._labels: list[
            tuple[str, str]
        ] = []  # for each enclosing try statement: the Python label and the C++ label
        self._used: set[str] = set()
        self._n_labels = 0
        self._locals: dict[str, str] = {}
        self.lines = list(self._block(method.body, 1))

    def text(self, name: str) -> list[str]:
        declared = [f"  {kind} {variable}{{}};" for variable, kind in sorted(self._locals.items())]
        return [f"bool {name}([[maybe_unused]] Word& z) {{", *declared, *self.lines, "}", ""]

    def _block(self, body: list[ast.stmt], depth: int) -> Iterator[str]:
        for statement in body:
            yield from self._statement(statement, depth)

    def _statement(self, node: ast.stmt, depth: int) -> Iterator[str]:
        indent = "  " * depth
        match node:
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                return
            case ast.Expr(ast.Call() as call):
                yield f"{indent}{self._value(call)};"
            case ast.Assign([target], value):
                yield f"{indent}{self._target(target)} = {self._value(value)};"
            case ast.AugAssign(target, operator, value):
                yield f"{indent}{self._target(target)} {OPERATORS[type(operator)]}= {self._value(value)};"
            case ast.If(test, body, orelse):
                yield f"{indent}if ({self._value(test)}) {{"
                yield from self._block(body, depth + 1)
                if orelse:
                    yield f"{indent}}} else {{"
                    yield from self._block(orelse, depth + 1)
                yield f"{indent}}}"
            case ast.While(ast.Constant(True), body, []):
                yield f"{indent}while (true) {{"
                yield from self._block(body, depth + 1)
                yield f"{indent}}}"
            case ast.For(ast.Name("_"), ast.Tuple(turns), body, []):
                turn = f"turn_{depth}"
                yield f"{indent}for (int {turn} = 0; {turn} < {len(turns)}; ++{turn}) {{"
                yield from self._block(body, depth + 1)
                yield f"{indent}}}"
            case ast.Break():
                yield f"{indent}break;"
            case ast.Continue():
                yield f"{indent}continue;"
            case ast.Return(ast.expr() as value):
                yield f"{indent}return {self._value(value)};"
            case ast.Try(body, [ast.ExceptHandler(ast.Name(label), None, [ast.Pass()])], [], []):
                yield from self._try(body, label, depth)
            case ast.Raise(ast.Call(ast.Name(label), [], []), None):
                yield f"{indent}goto {self._place(label, node)};"
            case _:
                raise UnknownFormError(node)

    def _try(self, body: list[ast.stmt], label: str, depth: int) -> Iterator[str]:
        place = f"{label}_{self._n_labels}"
        self._n_labels += 1
        self._labels.append((label, place))
        inside = list(self._block(body, depth + 1))
        self._labels.pop()
        yield "  " * depth + "{"
        yield from inside
        yield "  " * depth + "}"
        if place in self._used:
            yield "  " * (depth - 1) + f"{place}:;"

    def _place(self, label: str, node: ast.AST) -> str:
        for name, place in reversed(self._labels):
            if name == label:
                self._used.add(place)
                return place
        raise UnknownFormError(node)

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            kind = LOCALS.get(node.id.partition("_")[0], "int32_t")
            self._locals[node.id] = kind
            return node.id
        return self._value(node)

    def _value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(bool() as flag):
                return str(flag).lower()
            case ast.Constant(int() as number):
                return str(number)
            case ast.Constant(str() as text):
                return letters(text, "u", '"') + "sv"
            case ast.Name(name):
                return name
            case ast.Attribute(ast.Name("self"), name) if name in CURSORS:
                return f"z.{name}"
            case ast.Attribute(ast.Name("self"), name) if name[:2] in ("B_", "I_", "S_"):
                return f"z.{KINDS[name[0]]}[{name}]"
            case ast.Attribute(ast.Name(), name) if name[:2] in ("g_", "a_"):
                return name
            case ast.Subscript(ast.Attribute(ast.Name("self"), "current"), at):
                return f"z.letter({self._value(at)})"
            case ast.Subscript(ast.Attribute(ast.Name(), name), at) if name.startswith("as_"):
                return f"{name}[{self._value(at)}]"
            case ast.UnaryOp(operator, operand):
                return f"{OPERATORS[type(operator)]}({self._value(operand)})"
            case ast.BinOp(left, operator, right):
                return f"({self._value(left)} {OPERATORS[type(operator)]} {self._value(right)})"
            case ast.BoolOp(operator, values):
                return f" {OPERATORS[type(operator)]} ".join(f"({self._value(value)})" for value in values)
            case ast.Compare(left, [operator], [ast.Constant(str() as text)]) if len(text) == 1:
                return f"{self._value(left)} {OPERATORS[type(operator)]} {letters(text, 'U', chr(39))}"
            case ast.Compare(left, [operator], [right]):
                return f"{self._value(left)} {OPERATORS[type(operator)]} {self._value(right)}"
            case ast.Call(ast.Name("len"), [ast.Attribute(ast.Name("self"), "current")], []):
                return "z.n_letters()"
            case ast.Call(ast.Attribute(ast.Name("self"), name), [], []) if name.startswith("__r_"):
                return f"{name[2:]}(z)"
            case ast.Call(ast.Attribute(ast.Name("self"), name), arguments, []) if name in VERBS:
                return f"z.{name}({', '.join(map(self._value, arguments))})"
        raise UnknownFormError(node)


def grouping(name: str, node: ast.expr) -> str:
    """A set of letters, as a bit set that begins at its least letter."""
    codes = sorted(map(ord, ast.literal_eval(node)))
    words = [0] * ((codes[-1] - codes[0]) // 64 + 1)
    for code in codes:
        words[(code - codes[0]) // 64] |= 1 << (code - codes[0]) % 64
    bits = ", ".join(f"{word:#x}u" for word in words)
    return (
        f"constexpr uint64_t {name}_bits[] = {{{bits}}};\n"
        f"constexpr Grouping {name}{{{codes[0]:#x}, {codes[-1] - codes[0] + 1}, {name}_bits}};"
    )


def among(name: str, rows: list[ast.expr]) -> list[str]:
    """A table of suffixes (or prefixes), with their letters concatenated."""
    text, entries = "", []
    conditions: list[str] = []
    for row in rows:
        match row:
            case ast.Call(ast.Name("Among"), [ast.Constant(str() as own), shorter, result, *more], []):
                condition = 0
                if more:
                    (condition_node,) = more
                    if not isinstance(condition_node, ast.Name):
                        raise UnknownFormError(row)
                    routine = "&" + condition_node.id[2:]
                    if routine not in conditions:
                        conditions.append(routine)
                    condition = conditions.index(routine) + 1
                at = text.find(own)
                if at < 0:
                    at = len(text)
                    text += own
                entries.append(f"{{{at}, {len(own)}, {condition}, {integer(shorter)}, {integer(result)}}}")
            case _:
                raise UnknownFormError(row)
    routines = "nullptr"
    lines = []
    if conditions:
        lines.append(f"constexpr Condition {name}_conditions[] = {{{', '.join(conditions)}}};")
        routines = f"{name}_conditions"
    lines.append(f"constexpr Entry {name}_entries[] = {{{', '.join(entries)}}};")
    lines.append(
        f"constexpr Among {name}{{{letters(text, 'u', chr(34))}, {name}_entries, {len(entries)}, {routines}}};"
    )
    return lines


def translate(source: Path, language: str) -> str:
    """The C++ of one stemmer: `bool stem_LANGUAGE(Word&)`."""
    (algorithm,) = (
        node
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("lab")
    )
    numbers = dict.fromkeys(KINDS, 0)
    tables: list[str] = []
    declared: list[str] = []
    routines: list[str] = []
    for node in algorithm.body:
        match node:
            case ast.Expr(ast.Constant(str())):
                continue
            case ast.FunctionDef(name):
                own = "stem" if name == "_stem" else name[2:]
                declared.append(f"bool {own}(Word& z);")
                routines += Routine(node).text(own)
            case ast.Assign([ast.Name(name)], value) if name.startswith("g_"):
                tables.append(grouping(name, value))
            case ast.Assign([ast.Name(name)], ast.Constant(value)) if name[:2] in ("B_", "I_", "S_"):
                if value:
                    raise UnknownFormError(node)
                tables.append(f"constexpr size_t {name} = {numbers[name[0]]};")
                numbers[name[0]] += 1
            case ast.Assign([ast.Name(name)], ast.List(rows)) if name.startswith("a_"):
                tables += among(name, rows)
            case ast.Assign([ast.Name(name)], ast.Tuple(values)) if name.startswith("as_"):
                texts = ", ".join(letters(ast.literal_eval(value), "u", '"') + "sv" for value in values)
                tables.append(f"constexpr std::u16string_view {name}[] = {{{texts}}};")
            case _:
                raise UnknownFormError(node)
    limits = [
        f"static_assert({number} <= Word::{limit});"
        for number, limit in zip(numbers.values(), ("kFlags", "kNumbers", "kSlices"), strict=True)
    ]
    parts = [
        HEAD.format(source=source.name),
        "using namespace std::string_view_literals;",
        *limits,
        *declared,
        "",
        *tables,
        "",
        *routines,
        "}  // namespace",
        "",
        f"bool stem_{language}(Word& z) {{ return stem(z); }}",
        "",
        "}  // namespace scrubjay::text::snowball",
        "",
    ]
    return "\n".join(parts)


def programs(languages: list[str]) -> str:
    """The table of all stemmers, by name."""
    declared = "\n".join(f"bool stem_{language}(Word& z);" for language in languages)
    rows = "\n".join(f'    {{"{language}", &stem_{language}}},' for language in languages)
    return (
        "// Written by cmake/snowball.py.\n"
        '#include "text/snowball.hpp"\n\n'
        "namespace scrubjay::text::snowball {\n\n"
        f"{declared}\n\n"
        f"namespace {{\nconstexpr Program kPrograms[] = {{\n{rows}\n}};\n}}  // namespace\n\n"
        "std::span<const Program> all_programs() noexcept { return kPrograms; }\n\n"
        "}  // namespace scrubjay::text::snowball\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    written: dict[str, str] = {}
    folder = arguments.source / "src" / "snowballstemmer"
    found = {source.name.removesuffix("_stemmer.py"): source for source in folder.glob("*_stemmer.py")}
    if not found:
        sys.exit(f"no stemmers in {arguments.source}")
    names = sorted(found.keys() - {"english"})  # English is text/porter2.cpp
    for name in names:
        source = found[name]
        try:
            written[f"{name}.cpp"] = translate(source, name)
        except (UnknownFormError, ValueError) as error:
            sys.exit(f"{source}: {error}")
    written["programs.cpp"] = programs(names)
    arguments.to.mkdir(parents=True, exist_ok=True)
    for old in arguments.to.glob("*.cpp"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        target = arguments.to / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
