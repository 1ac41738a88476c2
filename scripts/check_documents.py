#!/usr/bin/env python3
"""Checks that the documents tell the truth about the tool: check_documents.py WICK [--without-tour]

- The commands of README.md's tour run in an empty folder, succeed unless the tour shows an error, and print what it
  shows; times, deviations from eager and where they are largest, numbers with a point and numbers of more than three
  digits may be others. The tour needs XNNPACK.
- Each command that a document mentions exists, and has the options that stand beside it.
- docs/cli.md: each option in a table below "## COMMAND" is one of that command.
Prints the deviations. Exit code 1 if there are some.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = re.compile(r"-?(\d+\.\d+(e[-+]?\d+)?|\d{4,})")
DEVIATION = re.compile(r"max abs \S+, max rel \S+,|, worst at \[[^]]*\]")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def run_with_code(command, folder=None):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def run(command, folder=None):
    return run_with_code(command, folder)[1]


def lines_of(text):
    """Lines without such numbers, whose columns are one blank apart."""
    return [" ".join(NUMBER.sub("N", DEVIATION.sub("", line)).split()) for line in text.splitlines() if line.strip()]


def tour_steps():
    """(command, lines below it) of the tour's code block."""
    block = read("README.md").split("<!-- tour:begin -->")[1].split("```")[1]
    for step in block.split("\n$ ")[1:]:
        command, _, shown = step.partition("\n")
        yield command, lines_of(shown)


def check_tour(wick):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "tests"), os.path.join(folder, "tests"))
        for command, shown in tour_steps():
            words = command.split()
            code, output = run_with_code([wick] + words[1:], folder)
            printed = lines_of(output)
            cut = shown[-1:] == [".."]
            wanted = shown[:-1] if cut else shown
            if words[0] != "wick" or not wanted or (printed[:len(wanted)] if cut else printed) != wanted:
                yield f"README.md: $ {command}\n  prints {printed}\n  shows  {wanted}"
            elif (code == 0) == any(line.startswith("error[") for line in wanted):
                yield f"README.md: $ {command}\n  ends with exit code {code}"


def options_of(wick, known={}):
    """Options by command."""
    if not known:
        commands = re.findall(r"^  ([a-z][a-z-]+)  ", run([wick, "--help"]), re.MULTILINE)
        for command in commands:
            help_text = run([wick, command, "--help"])
            known[command] = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_text, re.MULTILINE))
            known[command] |= set(re.findall(r",(--[a-z-]+)", help_text)) | set(re.findall(r"--limit", run([wick, "--help"])))
    return known


def check_mentions(wick, path):
    text = read(path)
    for match in re.finditer(r"(?:`|^\$ |^)wick ([a-z][a-z-]*(?:\|[a-z][a-z-]*)*)([^`\n]*)", text, re.MULTILINE):
        for command in match.group(1).split("|"):
            options = options_of(wick).get(command)
            if options is None:
                if match.group(0).startswith(("`", "$")):
                    yield f"{path}: there is no command: {match.group(0)}"
                continue
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", match.group(2)):
                if option not in options:
                    yield f"{path}: wick {command} has no option {option}"


def check_tables(wick):
    for section in read("docs/cli.md").split("\n## ")[1:]:
        command = section.split("\n")[0]
        for row in re.findall(r"^\| ([^|]*(?:\\\|[^|]*)*) \|", section, re.MULTILINE):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", row):
                if command in options_of(wick) and option not in options_of(wick)[command]:
                    yield f"docs/cli.md: wick {command} has no option {option}"


def main():
    wick = os.path.abspath(sys.argv[1])
    documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md"] + sorted("docs/" + name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
    found = [text for path in documents for text in check_mentions(wick, path)] + list(check_tables(wick))
    if len(sys.argv) > 2 and sys.argv[2] == "--without-tour":
        print("the tour is not checked: no XNNPACK")
    else:
        found += check_tour(wick)
    print("\n".join(found) if found else f"ok: {len(documents)} documents")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
