#!/usr/bin/env python3
"""Fails when a table of operators' names stands outside the operators' rows.

usage: check_name_tables.py [FOLDER ..]     default: compiler, backends, cli, runtime

What passes and backends ask of an operator stands in its row: compiler/ops/, and for a backend's own answers backends/*/compile/ops/.
Elsewhere these are name tables:
  - a braced list with three names of operators or more ({"aten.mm.default", ..}; names that are given to Builder::call do not count);
  - one statement, or branches of one `if` after the other, that compare one value with three names or more: x.is(".."), name == "..",
    name.starts_with("..").
A pattern of a pass that matches one or two operators by name is none, nor is a rewrite that makes operators by name, nor are branches
that each handle a node in their own way (if (x.is("..")) return view(x)).
"""

import os
import re
import subprocess
import sys

MIN_NAMES = 3
HEAD = 400  # characters in front of a brace that say whether it opens a list
NAME = r'"((?:aten|wick|prims|quantized_decomposed|torchao|llama)(?:\.|::)\w[\w.]*)"'
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
STRING = re.compile(r'R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"', re.S)
# Of a call that makes an operator.
MAKES = re.compile(r"\b(?:call|call_multi|emit_kernel|unary|op|binary)\s*\(\s*$")
COMPARES = re.compile(
    r"(?P<value>[\w:]+(?:(?:\.|->)\w+|\([^()]*\)|\[[^\[\]]*\])*?)\s*"
    r"(?:(?:\.|->)(?:is|starts_with)\(\s*|(?:\.|->)op->name\(\)(?:\s*==\s*|\.starts_with\(\s*)|\s*[!=]=\s*)" + NAME
)
BRANCH = re.compile(r"\s*(?:(?:else\s+)?if\b|$)")
# A branch that handles the node in its own way: return view(node), return {x, y}, return &Class::method.
DISPATCH = re.compile(r"\bif\b.*\breturn\s+(?:[\w:>.\-]+(?:<[^<>]*>)?\s*\(|\{|&\w+::)|\breturn\s*$", re.S)
HOMES = re.compile(r"(?:^|/)(?:compiler/ops|backends/[^/]+/compile/ops)/")
APART = re.compile(r"(?:_test|_fuzz|_bench)\.\w+$|(?:^|/)(?:test|tests|testing)/")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_noise(text):
    """Comments and directives blanked, strings kept; offsets stay."""
    noise = re.compile(f"({STRING.pattern})|{NOISE.pattern}", re.S | re.M)
    return noise.sub(lambda match: match.group() if match.group(1) else blank(match), text)


def lists(text):
    """(offset, names) of each outermost braced list."""
    code = STRING.sub(lambda m: '"' + "_" * (len(m.group()) - 2) + '"' if len(m.group()) > 1 else m.group(), text)
    opened = []
    for match in re.finditer(r"[{}]", code):
        at = match.start()
        if match.group() == "{":
            head = code[max(0, at - HEAD) : at].rstrip()
            is_list = bool(re.search(r"(?:[=(,{\[:?]|\breturn|\]|\w<[^;{}]*>|\b[A-Z]\w*)$", head)) and not re.search(
                r"(?:\bstruct|\bclass|\benum|\bnamespace|\belse|\bdo)\s*[\w:]*$", head
            )
            # `: public X {`, `Foo(..) : a_(1) {` and labels open blocks.
            opened.append((at, is_list))
        elif opened:
            start, is_list = opened.pop()
            inside = any(kind for _, kind in opened)
            if is_list and not inside:
                yield start, at


def names_in(text, start, end):
    for match in re.finditer(NAME, text[start:end]):
        if not MAKES.search(text[max(0, start + match.start() - 40) : start + match.start()]):
            yield match.group(1)


def statements(text, code):
    """(start, end) of what stands between semicolons and braces."""
    start = 0
    for match in re.finditer(r"[;{}]", code):
        yield start, match.start()
        start = match.end()


def tables(text):
    """(offset, names) of each name table of a file."""
    for name, value in re.findall(r'^#define (\w+) "([^"\n]*)"$', text, re.M):
        text = re.sub(rf'\b{name} "', f'"{value}', text)
    text = without_noise(text)
    code = STRING.sub(lambda m: '"' + "_" * (len(m.group()) - 2) + '"' if len(m.group()) > 1 else m.group(), text)
    for start, end in lists(text):
        names = list(names_in(text, start, end))
        if len(names) >= MIN_NAMES:
            yield start, names
    run = {}  # value -> (offset, names), of branches one after the other
    for start, end in statements(text, code):
        part = text[start:end]
        found = {}
        for match in COMPARES.finditer(part):
            found.setdefault(match.group("value"), []).append(match.group(match.lastindex))
        is_branch = BRANCH.match(part) is not None
        if DISPATCH.search(part):
            found = {value: names for value, names in found.items() if len(set(names)) >= MIN_NAMES}
        if not is_branch:
            yield from large(run)
            run = {}
        for value, names in found.items():
            run.setdefault(value, (start + len(part) - len(part.lstrip()), []))[1].extend(names)
        if found and not is_branch:
            yield from large(run)
            run = {}
    yield from large(run)


def large(run):
    for at, names in run.values():
        if len(set(names)) >= MIN_NAMES:
            yield at, names


def sources(folders):
    if not folders:
        listed = subprocess.run(["scripts/list_files.sh", "*.h", "*.cpp", "*.inc"], capture_output=True, text=True, check=True)
        for path in listed.stdout.split("\n"):
            if path.startswith(("compiler/", "backends/", "cli/")) and os.path.exists(path):
                yield path
        return
    for folder in folders:
        for path, _, files in sorted(os.walk(folder)):
            yield from (os.path.join(path, file) for file in sorted(files) if file.endswith((".h", ".cpp", ".inc")))


def main(folders):
    if not folders:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = wrong = 0
    for path in sources(folders):
        if not folders and (HOMES.search(path) or APART.search(path)):
            continue
        files += 1
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for at, names in tables(text):
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            print(f"{path}:{text.count(chr(10), 0, at) + 1}: a table of operators' names, {shown}: ask their rows (compiler/ops/)")
            wrong += 1
    if wrong or not files:
        return 1
    print(f"ok: no name tables in {files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
