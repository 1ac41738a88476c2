#!/usr/bin/env python3
"""Has g++ read every source of the preset "gcc": check_gcc.py [TEXT ..]

The compiler checks and instantiates everything but writes no code (-fsyntax-only), which takes half of the time of a
build; `cmake --build --preset gcc` builds. With TEXT, only sources whose path contains one of the texts. Prints what g++
says about sources that it refuses; exit 1 if there is one.
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "gcc"
HEADERS = ["wick_schema_headers", "wick_xnnpack_payload_headers", "wick_cuda_payload_headers"]


def command_of(entry: dict) -> list[str]:
    """The entry's command without launcher and output."""
    words = shlex.split(entry["command"])
    compiler = next(i for i, word in enumerate(words) if os.path.basename(word) in ("g++", "gcc"))
    words = words[compiler:]
    output = words.index("-o")
    return words[:output] + words[output + 2 :] + ["-fsyntax-only"]


def check(entry: dict) -> str:
    done = subprocess.run(command_of(entry), cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main() -> int:
    subprocess.run(["cmake", "--preset", "gcc", "--log-level=WARNING"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    wanted = sys.argv[1:]
    entries = [entry for entry in entries if not wanted or any(text in entry["file"] for text in wanted)]
    generated = [os.path.relpath(e["file"], BUILD) for e in entries if not Path(e["file"]).exists()]
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet", *HEADERS, *generated], check=True)
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
