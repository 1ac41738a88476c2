#!/usr/bin/env python3
"""Has g++ read every source of the preset "gcc": check_gcc.py [--since COMMIT] [TEXT ..]

The compiler checks and instantiates everything but writes no code (-fsyntax-only), which takes half of the time of a
build; `cmake --build --preset gcc` builds. With TEXT, only sources whose path contains one of the texts. With --since,
only those that differ from the commit, or include a file that does; all if a file of the build differs. Prints what g++
says about sources that it refuses; exit 1 if there is one.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "gcc"


def command_of(entry: dict) -> list[str]:
    """The entry's command without launcher and output."""
    words = shlex.split(entry["command"])
    compiler = next(i for i, word in enumerate(words) if os.path.basename(word) in ("g++", "gcc"))
    words = words[compiler:]
    output = words.index("-o")
    return words[:output] + words[output + 2 :] + ["-fsyntax-only"]


def is_group(entry: dict) -> bool:
    """Is it a source that CMake wrote, which includes others?"""
    return re.search(r"_[0-9]+\.cpp$", entry["file"]) is not None


def differing(commit: str) -> set[Path]:
    """The files that differ from the commit, new ones among them."""
    commands = (["git", "diff", "--name-only", commit], ["git", "ls-files", "--others", "--exclude-standard"])
    names = [subprocess.run(c, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n") for c in commands]
    return {ROOT / name for name in sum(names, []) if name}


class Includes:
    """Which of the project's files a file includes, itself and those that they include among them."""

    def __init__(self):
        self.known = {}

    def of(self, file: Path) -> set[Path]:
        if file in self.known:
            return self.known[file]
        found = self.known[file] = {file}
        if file.exists():
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(errors="replace"), re.MULTILINE):
                place = next((p for p in (ROOT / name, ROOT / "include" / name, file.parent / name) if p.exists()), None)
                if place:
                    found |= self.of(place.resolve())
        return found


def check(entry: dict) -> str:
    done = subprocess.run(command_of(entry), cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--since")
    parser.add_argument("wanted", nargs="*", metavar="TEXT")
    options = parser.parse_args()
    subprocess.run(["cmake", "--preset", "gcc", "--log-level=WARNING"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    entries = [entry for entry in entries if not options.wanted or any(text in entry["file"] for text in options.wanted)]
    # What tests have the tool write is left out: that would take a build of the tool.
    entries = [entry for entry in entries if not Path(entry["file"]).is_relative_to(BUILD / "tests") or is_group(entry)]
    generated = [os.path.relpath(e["file"], BUILD) for e in entries if not Path(e["file"]).exists()]
    targets = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], check=True, capture_output=True, text=True)
    headers = re.findall(r"^(generated/.*_generated\.h): CUSTOM_COMMAND$", targets.stdout, re.MULTILINE)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet", *headers, *generated], check=True)
    changed = differing(options.since) if options.since else set()
    if options.since and not any(re.search(r"^CMake|\.cmake$|\.fbs$", path.name) for path in changed):
        includes = Includes()
        entries = [entry for entry in entries if includes.of(Path(entry["file"]).resolve()) & changed]
    # The largest first, so that the last ones end together.
    entries.sort(key=lambda entry: -Path(entry["file"]).stat().st_size)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        refused = [text for text in pool.map(check, entries) if text]
    for text in refused:
        print(text)
    print(f"{len(entries)} sources, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
