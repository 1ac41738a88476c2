#!/usr/bin/env python3
"""Fails when two files define a class, enum or inline function of one name: the One Definition Rule, which no linker checks.

usage: check_one_definition.py [FOLDER ..]     default: every folder with sources
       check_one_definition.py --groups FILE   lines "TARGET FILE .." of files that are compiled together

Two classes of one qualified name in different files have one set of destructors and inline members; the linker keeps either.
Anonymous namespaces and bodies of functions are private and do not count, nor do specialisations and forward declarations.
In groups names in anonymous namespaces count, whatever they name: the compiler would take the function of another file where
its parameters fit better. So does a function of the same parameters that a header declares in the same namespace, unless the
file itself includes that header. Files that lie in named namespaces of their own do not meet.
"""

import os
import re
import subprocess
import sys

NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*',
    re.S | re.M,
)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)\s*$")
CLASS = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*(\w+)\s*(?:final\s*)?(?::[^:].*)?$",
    re.S,
)
FUNCTION = re.compile(r"(~?\w+|operator\s*\S+)\s*(\([^{}]*\))\s*(?:const\s*)?(?:noexcept\s*)?(?:->[^{}]*)?$", re.S)

PRIVATE_CLASS = re.compile(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)(?=\s*(?:final\b|:|$))")
PRIVATE_CONSTANT = re.compile(r"(?:static |constexpr |const |inline )+[\w:<>, *&]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=|$)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
PRIVATE_FUNCTION = re.compile(r"(?:[\w:<>,*&\[\]]+\s+)+[*&]*(\w+)\s*\(([^{}]*)\)\s*(?:const\s*)?(?:->[^{}]*)?$")


def marks(text):
    """(mark, head, offset) of each brace and semicolon: the head is the text in front of it, in one line without comments."""
    text = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    start = 0
    for match in re.finditer(r"[{};]", text):
        yield match.group(), " ".join(text[start : match.start()].split()), match.start()
        start = match.end()


def definitions(text):
    """(qualified name, offset) of what the file defines for all others to see."""
    scopes = []  # names; None: private
    for mark, head, at in marks(text):
        if mark == "{":
            name = scope_of(head)
            if name and None not in scopes:
                if name[0] != "namespace":
                    yield "::".join(scopes + [name[1]]), at
                scopes.append(name[1] if name[0] != "function" else None)
            else:
                scopes.append(None)
        elif mark == "}" and scopes:
            scopes.pop()


def private_names(text):
    """(name, parameters or None, enclosing namespace, offset) of classes, functions and constants in anonymous namespaces."""
    scopes = []  # names of namespaces, "" of an anonymous one; None: anything else
    for mark, head, at in marks(text):
        if scopes and scopes[-1] == "" and mark != "}":
            function = mark == "{" and PRIVATE_FUNCTION.match(head)
            name = PRIVATE_CLASS.match(head) or PRIVATE_CONSTANT.match(head) or function
            if name:
                parameters = types_of(name.group(2)) if name is function else None
                yield name.group(1), parameters, "::".join(scope for scope in scopes if scope), at
        if mark == "{":
            space = NAMESPACE.search(head)
            scopes.append(space.group(1) if space else None)
        elif mark == "}" and scopes:
            scopes.pop()


def declared_functions(text):
    """(name, parameters, enclosing namespace, offset) of functions that a header declares or defines in named namespaces."""
    scopes = []
    for mark, head, at in marks(text):
        if mark != "}" and None not in scopes and "" not in scopes:
            name = PRIVATE_FUNCTION.match(re.sub(r"\[\[.*?\]\]\s*", "", head))
            if name:
                yield name.group(1), types_of(name.group(2)), "::".join(scopes), at
        if mark == "{":
            space = NAMESPACE.search(head)
            scopes.append(space.group(1) if space else None)
        elif mark == "}" and scopes:
            scopes.pop()


def types_of(parameters):
    """The types alone of a list of parameters, without namespaces."""
    parameters = re.sub(r"\s*=[^,]*|\w+::", "", parameters)
    return [re.sub(r"(?<=[\w&*>]) *(?<=[ &*>])\w+$", "", parameter.strip()) for parameter in parameters.split(",")]


def scope_of(head):
    """(kind, name) of what a brace opens; None: nothing that others see."""
    match = NAMESPACE.search(head)
    if match:
        return ("namespace", match.group(1)) if match.group(1) else None
    head = re.sub(r"^(?:public|private|protected)\s*:\s*", "", head)
    plain = re.sub(r"^template\s*<.*>\s*(?=(?:class|struct|union)\b)", "", head)
    match = CLASS.search(plain)
    if match and not re.search(r"[()=]", plain[: match.start(1)].replace("alignas(", "")):
        return ("class", match.group(1))
    if re.match(r"(?:inline|constexpr)\b", head):
        match = FUNCTION.search(head)
        if match:
            return ("function", match.group(1) + re.sub(r"\s*=[^,)]*|\s+", " ", match.group(2)))
    return None


def sources(folders):
    if folders:
        for folder in folders:
            for path, _, names in os.walk(folder):
                yield from (os.path.join(path, name) for name in sorted(names))
        return
    listed = subprocess.run(["scripts/list_files.sh", "*.h", "*.cpp"], capture_output=True, text=True, check=True)
    yield from listed.stdout.split("\n")


class Headers:
    """The headers of the project that a file includes, itself or through others."""

    def __init__(self):
        self.reached, self.functions = {}, {}

    def of(self, path):
        if path not in self.reached:
            self.reached[path] = set()
            for header in INCLUDE.findall(read(path)):
                if os.path.exists(header):
                    self.reached[path] |= {header} | self.of(header)
        return self.reached[path]

    def declared_in(self, header):
        if header not in self.functions:
            text = read(header)
            self.functions[header] = [(*function, line_of(text, at)) for *function, at in declared_functions(text)]
        return self.functions[header]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_groups(path):
    targets = [line.split() for line in read(path).splitlines()]
    headers = Headers()
    places = {}
    for target, *paths in targets:
        declared = {}
        for header in sorted(set().union(*map(headers.of, paths))):
            for name, parameters, space, line in headers.declared_in(header):
                declared.setdefault(f"{space}::{name}", []).append((header, parameters, line))
        for path in paths:
            text = read(path)
            for name, parameters, space, at in private_names(text):
                where = places.setdefault((target, f"{space}::{name}"), {})
                where.setdefault(path, line_of(text, at))
                for header, taken, line in declared.get(f"{space}::{name}", []):
                    if taken == parameters and header not in headers.of(path):
                        where.setdefault(header, line)
    return report({f"{name}, private to a file of {target},": where for (target, name), where in places.items()}, f"{len(targets)} targets")


def report(places, of):
    """Prints what is in two files. Returns the exit status."""
    wrong = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(wrong.items()):
        print(f"{name} is defined in " + " and in ".join(f"{path}:{line}" for path, line in where.items()))
    if wrong:
        return 1
    if not places:
        print("no definitions found")
        return 1
    print(f"ok: {len(places)} definitions in {of}")
    return 0


def main(folders):
    if folders and folders[0] == "--groups":
        return check_groups(folders[1])
    if not folders:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    places, files = {}, 0
    for path in sources(folders):
        # Programs of their own: nothing else is linked with them.
        is_apart = not folders and path.startswith(("examples/", "tests/one_definition/"))
        if not path.endswith((".h", ".cpp")) or is_apart or not os.path.exists(path):
            continue
        files += 1
        text = read(path)
        for name, at in definitions(text):
            places.setdefault(name, {}).setdefault(path, line_of(text, at))
    return report(places, f"{files} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
