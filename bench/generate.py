"""Programs of any size, written as torch.export.save writes them, without torch.

    python3 bench/generate.py KIND COUNT OUT.pt2

KIND     COUNT                                    what it stresses
transformer  encoder blocks of width 128              the whole compiler; weights grow with the nodes
chain        pointwise nodes in a row                 passes, arena of two blocks
wide         nodes that all read one input            lists of readers, many values alive together
constants    additions of a small constant each       constants and their names
views        transposes and reshapes in a row         the passes over views
rnn          steps over a sequence, unrolled          selects of one value and one concatenation of all steps
"""

import array
import json
import random
import sys
import zipfile

F32 = 7
WIDTH, HEADS, TOKENS = 128, 4, 32


def tensor_meta(sizes):
    strides, stride = [], 1
    for size in reversed(sizes):
        strides.insert(0, stride)
        stride *= size
    return {"dtype": F32, "sizes": [{"as_int": s} for s in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": s} for s in strides], "storage_offset": {"as_int": 0}, "layout": 7}


def argument(value):
    if isinstance(value, Tensor):
        return {"as_tensor": {"name": value.name}}
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return {"as_string": value}
    if isinstance(value, list) and value and isinstance(value[0], Tensor):
        return {"as_tensors": [{"name": item.name} for item in value]}
    return {"as_floats" if value and isinstance(value[0], float) else "as_ints": value}


class Tensor:
    def __init__(self, name, sizes):
        self.name, self.sizes = name, sizes


class Program:
    """One graph with one input, the tensors of its nodes and the weights they read."""

    def __init__(self, input_sizes):
        self.nodes, self.values, self.parameters, self.weights = [], {}, [], []
        self.module = ""
        self.input = self.tensor("x", input_sizes)
        numbers = random.Random(7)
        self.noise = array.array("f", (numbers.uniform(-1, 1) for _ in range(1 << 16)))

    def tensor(self, name, sizes):
        self.values[name] = tensor_meta(sizes)
        return Tensor(name, sizes)

    def weight(self, name, sizes, scale=1.0):
        """A parameter with values that no other parameter has in the same places."""
        name = f"{self.module}.{name}" if self.module else name
        parameter = self.tensor("p_" + name.replace(".", "_"), sizes)
        count = 1
        for size in sizes:
            count *= size
        shift = len(self.weights) * 101 % len(self.noise)
        values = array.array("f", (scale * value for value in self.noise[shift:shift + min(count, 4096)]))
        while len(values) < count:
            values.extend(values[:count - len(values)])
        self.parameters.append((parameter.name, name))
        self.weights.append((name, sizes, values.tobytes()))
        return parameter

    def call(self, target, inputs, sizes):
        """A node; `inputs` maps argument names to values in the order of the schema."""
        name = f"{target.split('.')[0]}_{len(self.nodes)}"
        out = self.tensor(name, sizes)
        self.nodes.append({
            "target": f"torch.ops.aten.{target}",
            "inputs": [{"name": key, "arg": argument(value), "kind": 1} for key, value in inputs.items()],
            "outputs": [{"as_tensor": {"name": name}}],
            "metadata": {"stack_trace": f'File "generate.py", line {len(self.nodes) + 1}, in forward\n    {name}',
                         "nn_module_stack": f"L__self__,,generate.Model;{self.module},{self.module},generate.Block"},
            "is_hop_single_tensor_return": None, "name": name})
        return out

    def document(self, result):
        return self.document_of([self.input], self.parameters, [result.name])

    def document_of(self, inputs, parameters, results):
        """The program with these inputs, (name, qualified name) of parameters, and names of results."""
        leaf = {"type": None, "context": None, "children_spec": []}
        tuple_of = lambda children: {"type": "builtins.tuple", "context": "null", "children_spec": children}
        in_spec = [1, tuple_of([tuple_of([leaf] * len(inputs)), {"type": "builtins.dict", "context": "[]", "children_spec": []}])]
        out_spec = [1, leaf if len(results) == 1 else tuple_of([leaf] * len(results))]
        call = {"inputs": [], "outputs": [], "in_spec": json.dumps(in_spec), "out_spec": json.dumps(out_spec),
                "forward_arg_names": [value.name for value in inputs]}
        specs = [{"parameter": {"arg": {"name": name}, "parameter_name": fqn}} for name, fqn in parameters]
        specs += [{"user_input": {"arg": {"as_tensor": {"name": value.name}}}} for value in inputs]
        read = [{"as_tensor": {"name": name}} for name in [name for name, _ in parameters] + [value.name for value in inputs]]
        graph = {"inputs": read, "outputs": [{"as_tensor": {"name": name}} for name in results], "nodes": self.nodes, "tensor_values": self.values,
                 "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
        signature = {"input_specs": specs, "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": name}}}} for name in results]}
        module = {"graph": graph, "signature": signature, "module_call_graph": [{"fqn": "", "signature": call}], "metadata": {},
                  "treespec_namedtuple_fields": {}}
        return {"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
                "verifiers": ["TRAINING"], "torch_version": "2.15.0", "guards_code": []}

    def write(self, path, result):
        top = "program"
        config = {}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for index, (name, sizes, data) in enumerate(self.weights):
                archive.writestr(f"{top}/data/weights/weight_{index}", data)
                config[name] = {"path_name": f"weight_{index}", "is_param": True, "use_pickle": False, "tensor_meta": tensor_meta(sizes)}
            for path_name, text in (("data/weights/model_weights_config.json", json.dumps({"config": config})),
                                    ("data/constants/model_constants_config.json", '{"config": {}}'),
                                    ("models/model.json", json.dumps(self.document(result))),
                                    ("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little"), (".data/version", "3\n")):
                archive.writestr(f"{top}/{path_name}", text)


def layer_norm(p, name, x):
    weight, bias = p.weight(name + ".weight", [WIDTH]), p.weight(name + ".bias", [WIDTH])
    return p.call("layer_norm.default", {"input": x, "normalized_shape": [WIDTH], "weight": weight, "bias": bias, "eps": 1e-6}, x.sizes)


def linear(p, name, x, features):
    weight = p.weight(name + ".weight", [features, x.sizes[-1]], (3.0 / x.sizes[-1]) ** 0.5)
    inputs = {"input": x, "weight": weight, "bias": p.weight(name + ".bias", [features])}
    return p.call("linear.default", inputs, x.sizes[:-1] + [features])


def add(p, x, y):
    return p.call("add.Tensor", {"self": x, "other": y}, x.sizes)


def heads(p, x):
    sizes = [1, TOKENS, HEADS, WIDTH // HEADS]
    split = p.call("view.default", {"self": x, "size": sizes}, sizes)
    return p.call("transpose.int", {"self": split, "dim0": 1, "dim1": 2}, [1, HEADS, TOKENS, WIDTH // HEADS])


def attention(p, x):
    q, k, v = (heads(p, linear(p, f"attention.{name}", x, WIDTH)) for name in ("query", "key", "value"))
    out = p.call("scaled_dot_product_attention.default", {"query": q, "key": k, "value": v}, q.sizes)
    out = p.call("transpose.int", {"self": out, "dim0": 1, "dim1": 2}, [1, TOKENS, HEADS, WIDTH // HEADS])
    return linear(p, "attention.out", p.call("reshape.default", {"self": out, "shape": x.sizes}, x.sizes), WIDTH)


def transformer(count):
    p = Program([1, TOKENS, WIDTH])
    x = p.input
    for block in range(count):
        p.module = f"blocks.{block}"
        x = add(p, x, attention(p, layer_norm(p, "norm1", x)))
        hidden = linear(p, "mlp.0", layer_norm(p, "norm2", x), 4 * WIDTH)
        x = add(p, x, linear(p, "mlp.1", p.call("gelu.default", {"self": hidden}, hidden.sizes), WIDTH))
    return p, x


def chain(count):
    p = Program([4, 8])
    x = p.input
    for index in range(count):
        x = p.call(("relu.default", "sin.default", "tanh.default", "neg.default")[index % 4], {"self": x}, x.sizes)
    return p, x


def wide(count):
    p = Program([4, 8])
    parts = [p.call("mul.Scalar", {"self": p.input, "other": 1.0 + index}, [4, 8]) for index in range(count)]
    while len(parts) > 1:
        parts = [add(p, *parts[at:at + 2]) if at + 1 < len(parts) else parts[at] for at in range(0, len(parts), 2)]
    return p, parts[0]


def constants(count):
    p = Program([4, 8])
    x = p.input
    for index in range(count):
        p.module = f"layers.{index}"
        x = p.call("sin.default", {"self": add(p, x, p.weight("shift", [8]))}, x.sizes)
    return p, x


def views(count):
    p = Program([4, 8])
    x = p.input
    for index in range(count):
        if index % 3 == 0:
            x = p.call("transpose.int", {"self": x, "dim0": 0, "dim1": 1}, x.sizes[::-1])
        elif index % 3 == 1:
            x = p.call("view.default" if index % 2 else "reshape.default", {"self": x, "size" if index % 2 else "shape": x.sizes[::-1]}, x.sizes[::-1])
        else:
            x = p.call("sin.default", {"self": x}, x.sizes)
    return p, x


def rnn(count):
    p = Program([count, 8])
    hidden = p.weight("start", [8])
    steps = []
    for index in range(count):
        step = p.call("select.int", {"self": p.input, "dim": 0, "index": index}, [8])
        hidden = p.call("tanh.default", {"self": add(p, step, hidden)}, [8])
        steps.append(p.call("unsqueeze.default", {"self": hidden, "dim": 0}, [1, 8]))
    return p, p.call("cat.default", {"tensors": steps, "dim": 0}, [count, 8])


KINDS = {"transformer": transformer, "chain": chain, "wide": wide, "constants": constants, "views": views, "rnn": rnn}


def generate(kind, count, path):
    program, result = KINDS[kind](count)
    program.write(path, result)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    generate(sys.argv[1], int(sys.argv[2]), sys.argv[3])
