#!/usr/bin/env python3
"""Fails when a file, a function or a folder is too large to read in one go, or when a folder does not say what it holds.

usage: check_sizes.py [FOLDER]     default: the project

- A source file has at most 800 lines, a function at most 60. Tests and data in a source file (*.inc) may be longer.
- A folder has at most 25 files, and a folder with sources a README.md. Exceptions have a reason below.
"""

import collections
import os
import re
import subprocess
import sys

MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_FOLDER_FILES = 800, 60, 25
SOURCES = (".h", ".cpp", ".inl", ".py")
TESTS = re.compile(r"(?:_test|_test_support|_test_writer|_fuzz|_bench)\.\w+$|(?:^|/)(?:test|tests|testing)/|^(?:bench|examples)/")
# Folders that hold more files, each with what makes it one thing.
LARGE = {
    "backends/cortex_m/kernels": "what kernels share and tests of it; each kernel has a folder of its own",
    "compiler/ir": "the graph and what a node, value and type consist of; text and symbols have folders of their own",
    "compiler/passes/test": "one golden file per pass",
    "tests/conformance": "one set of cases, how a case becomes a program, and one test for each way to run them",
    "tests/fixtures/exporters": "one module per kind of fixture and family of cases",
}
# Folders of data, one file per case, described by a README above them.
DATA = re.compile(r"^tests/(?:fixtures|fuzz)(?:/|$)")

NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*',
    re.S | re.M,
)
FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|final|->.*|:.*)?\s*$")
NO_FUNCTION = re.compile(r"^(?:if|for|while|switch|else|do)\b|\b(?:struct|class|namespace|enum)\s*\w*$")


def long_functions(text):
    """(line, lines, head) of each function that is too long."""
    code = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    opened, start = [], 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match.group() == "{":
            head = " ".join(code[start:at].split())
            opened.append((at, head, bool(FUNCTION.search(head)) and not NO_FUNCTION.search(head)))
        elif match.group() == "}" and opened:
            begin, head, is_function = opened.pop()
            lines = code.count("\n", begin, at) + 1
            if is_function and lines > MAX_FUNCTION_LINES and not any(outer[2] for outer in opened):
                yield code.count("\n", 0, begin) + 1, lines, head
        start = match.end()


def project_files():
    listed = subprocess.run(["scripts/list_files.sh", "*"], capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.split("\n") if path]


def folder_files(folder):
    for path, _, files in sorted(os.walk(folder)):
        yield from (os.path.join(path, file) for file in sorted(files))


def main(folders):
    if not folders:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    paths = list(folder_files(folders[0])) if folders else project_files()
    problems, counts = [], collections.Counter(os.path.dirname(path) for path in paths)
    for path in paths:
        if not path.endswith(SOURCES) or (not folders and TESTS.search(path)):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = text.count("\n")
        if lines > MAX_FILE_LINES:
            problems.append(f"{path}: {lines} lines; at most {MAX_FILE_LINES}: split it by role")
        if not path.endswith(".py"):
            for line, length, head in long_functions(text):
                problems.append(f"{path}:{line}: a function of {length} lines, at most {MAX_FUNCTION_LINES}: {head[-60:]}")
    for folder, count in sorted(counts.items()):
        if count > MAX_FOLDER_FILES and folder not in LARGE and not DATA.match(folder):
            problems.append(f"{folder}: {count} files; at most {MAX_FOLDER_FILES}, or a reason in scripts/check_sizes.py")
    known = set(paths)
    for folder in sorted({os.path.dirname(path) for path in paths if path.endswith(SOURCES)}):
        if (folders or folder != "tests/sizes/sample") and folder and os.path.join(folder, "README.md") not in known:
            problems.append(f"{folder}: no README.md")
    for folder in sorted(LARGE) if not folders else []:
        if counts[folder] <= MAX_FOLDER_FILES:
            problems.append(f"{folder}: no exception any more, drop it from scripts/check_sizes.py")
    print("\n".join(problems) if problems else f"ok: {len(paths)} files in {len(counts)} folders")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
