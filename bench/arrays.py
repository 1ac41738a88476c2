"""Compares .npz files without numpy.

    python3 arrays.py FOUND.npz WANTED.npz

A process of its own, so that the one which starts what is measured stays small: a child's peak memory is never below its parent's.
"""

import ast
import json
import math
import sys
import zipfile
from array import array
from operator import sub

TYPES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|b1": "b"}


def read_npy(data):
    """Sizes and elements of one .npy."""
    wide = data[6] > 1
    start = 12 if wide else 10
    end = start + int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start:end].decode("latin1"))
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError("column-major array")
    values = array(TYPES[header["descr"]])
    values.frombytes(data[end:])
    return header["shape"], values


def read_outputs(path):
    """Arrays named outK, by name."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("out") and name.endswith(".npy")]
        return {name[:-len(".npy")]: read_npy(archive.read(name)) for name in names}


def difference(found_path, wanted_path):
    """`largest`: the largest difference over the largest wanted value; `overall`: the root of the sum of squared ones over that of wanted ones; of the
    worst output each. `wrong` if they cannot be compared."""
    found, wanted = read_outputs(found_path), read_outputs(wanted_path)
    largest, overall = 0.0, 0.0
    for name, (sizes, values) in wanted.items():
        if name not in found or found[name][0] != sizes:
            return {"wrong": f"{name} is {found[name][0] if name in found else 'missing'}, not {sizes}"}
        distance, length = math.dist(found[name][1], values), math.hypot(*values)
        if not math.isfinite(distance):
            return {"wrong": f"{name} is not finite"}
        gap, scale = max(map(abs, map(sub, found[name][1], values))), max(map(abs, values))
        largest = max(largest, gap / scale if scale else float(gap > 0))
        overall = max(overall, distance / length if length else float(distance > 0))
    return {"largest": largest, "overall": overall}


if __name__ == "__main__":
    print(json.dumps(difference(*sys.argv[1:])))
