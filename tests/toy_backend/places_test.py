#!/usr/bin/env python3
"""Counts the places of a new backend.

Follows docs/how-to-add-backend.md in a copy of the sources: the toy becomes backends/marigold. The project's checks must then find
nothing, and the only files outside the folder that differ are those that the guide lists. A backend that another place names must be
found there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOY = "tests/toy_backend"
NAME = "marigold"  # a word that no source uses
KINDS = ("*.h", "*.cpp", "*.inc", "*.fbs", "*.py", "*.sh", "*.md", "*.txt", "*.cmake")
FOLDER_CMAKE = """wick_library(wick_backend_{0} SOURCES kernels.cpp payload.cpp registration.cpp runtime.cpp DEPENDS wick_runtime_core)
if(WICK_COMPILER)
  wick_library(wick_{0}_compiler IR SOURCES lower.cpp support.cpp target.cpp DEPENDS wick_backend_{0} wick_partition wick_ops wick_ir wick_support)
endif()
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def list_sources():
    listed = subprocess.run(["scripts/list_files.sh", *KINDS], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.splitlines() if not path.startswith("tests/fixtures/")]


def copy_sources(sources, to):
    for path in sources:
        os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, path), os.path.join(to, path))


def insert_after_last(path, pattern, line):
    """Adds a line after the last one that matches."""
    lines = read(path).splitlines(keepends=True)
    last = max(i for i, text in enumerate(lines) if re.match(pattern, text))
    lines.insert(last + 1, line + "\n")
    write(path, "".join(lines))


def add_folder(copy):
    """The delegate form of the toy as the guide has it: the folder moves and changes its name."""
    folder = os.path.join(copy, "backends", NAME)
    for file in sorted(os.listdir(os.path.join(copy, TOY))):
        if file.endswith(("_test.cpp", ".py", ".txt", ".md")) or file in ("nhwc.cpp", "operators.cpp", "kernels.cpp"):
            continue
        text = read(os.path.join(copy, TOY, file)).replace(TOY, "backends/" + NAME)
        write(os.path.join(folder, file), text.replace("toy", NAME).replace("Toy", NAME.capitalize()))
    write(os.path.join(folder, "CMakeLists.txt"), FOLDER_CMAKE.format(NAME))
    write(os.path.join(folder, "README.md"), f"# backends/{NAME}\n\nTakes `add` and `mul`.\n")


def add_lines(copy):
    """The lines outside the folder."""
    insert_after_last(os.path.join(copy, "backends/backends.inc"), r"WICK_BACKEND\(", f"WICK_BACKEND({NAME})")
    line = f"wick_backend({NAME} RUNTIME wick_backend_{NAME} COMPILER wick_{NAME}_compiler)"
    insert_after_last(os.path.join(copy, "backends/CMakeLists.txt"), r"wick_backend\(", line)
    insert_after_last(os.path.join(copy, "backends/README.md"), r"- `", f"- `{NAME}/`: `add` and `mul`.")


def listed_places():
    """What the guide's numbered steps name after the folder."""
    text = read(os.path.join(ROOT, "docs/how-to-add-backend.md"))
    return re.findall(r"^\d\. \*\*One \w+\*\* in `([^`]+)`", text, re.M)


def changed_places(copy, sources):
    before = {path: read(os.path.join(ROOT, path)) for path in sources}
    found = []
    for folder, _, files in os.walk(copy):
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), copy)
            if not path.startswith(f"backends/{NAME}/") and before.get(path) != read(os.path.join(copy, path)):
                found.append(path)
    return sorted(found)


def complaints(copy, check):
    """What a check of the sources prints if it finds a fault."""
    run = subprocess.run(check, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout if run.returncode else ""


def main():
    layers, name_tables = ["scripts/check_layers.sh"], [sys.executable, "scripts/check_name_tables.py", f"backends/{NAME}"]
    with tempfile.TemporaryDirectory() as copy:
        sources = list_sources()
        copy_sources(sources, copy)
        add_folder(copy)
        add_lines(copy)
        faults = complaints(copy, layers) + complaints(copy, name_tables)
        listed, changed = sorted(listed_places()), changed_places(copy, sources)
        if listed != changed or len(changed) != 3:
            faults += f"the guide lists {listed}, a new backend changes {changed}\n"
        elsewhere = ("compiler/driver/compile.cpp", "cli/target_flags.cpp", "runtime/exec/method.cpp", "cli/CMakeLists.txt")
        for place in elsewhere:
            write(os.path.join(copy, place), read(os.path.join(copy, place)) + f"// {NAME}\n")
        found = complaints(copy, layers)
        for place in elsewhere:
            if f"{place} names the backend {NAME}" not in found:
                faults += f"{place} may name a backend\n"
        sys.exit(faults or 0)


if __name__ == "__main__":
    main()
