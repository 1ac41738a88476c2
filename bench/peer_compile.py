"""Compiles a .pt2 with ExecuTorch and prints what it cost as JSON.

    python peer_compile.py portable|xnnpack MODEL.pt2 OUT.pte          in a Python that has executorch and torch
"""

import json
import sys
import time

import torch
from executorch.exir import to_edge_transform_and_lower

partitioner = None
if sys.argv[1] == "xnnpack":
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    partitioner = [XnnpackPartitioner()]
imported_s = time.process_time()
program = torch.export.load(sys.argv[2])
start, wall = time.process_time(), time.perf_counter()
lowered = to_edge_transform_and_lower(program, partitioner=partitioner).to_executorch()
times = {"import_s": imported_s, "lower_s": time.process_time() - start, "lower_wall_s": time.perf_counter() - wall}
with open(sys.argv[3], "wb") as out:
    lowered.write_to_file(out)
print(json.dumps(times))
