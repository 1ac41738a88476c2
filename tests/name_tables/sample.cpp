// Not part of any build: what scripts/check_name_tables.py has to find, and what it has to leave alone.
namespace sample {

constexpr std::string_view kListed[] = {"aten.relu.default", "aten.tanh.default",
                                        /* and */ "aten.neg.default"};

bool is_listed(const Node& node) {
  for (const char* name : {"aten.mm.default", "aten.bmm.default", "aten.addmm.default"}) {
    if (node.is(name)) return true;
  }
  return false;
}

bool is_compared(const Node& node) {
  return node.is("aten.eq.Tensor") || node.op->name() == "aten.ne.Tensor" || node.op->name().starts_with("aten.lt.");
}

int branches(const Node& node) {
  if (node.is("aten.view.default")) return 0;
  if (node.is("aten.permute.default")) return 1;
  if (node.is("aten.expand.default")) return 2;
  return 3;
}

// --- none ---

// "aten.relu.default", "aten.tanh.default", "aten.neg.default"
bool is_sum(const Node& node) { return node.is("aten.add.Tensor") || node.is("aten.sub.Tensor"); }

bool is_pattern(const Node& a, const Node& b, const Node& c) {
  return a.is("aten.mul.Tensor") && b.is("aten.rsqrt.default") && c.is("aten.mean.dim");
}

Value* rewritten(Builder& b, const Node& node) {
  if (node.is("aten.view.default")) return view(b, node);
  if (node.is("aten.permute.default")) return permute(b, node);
  if (node.is("aten.expand.default")) return expand(b, node);
  Value* x = b.call("aten.mul.Tensor", {b.call("aten.relu", {node.arg(0)}), b.call("aten.neg", {node.arg(1)})});
  return b.call("aten.add.Tensor", {x, b.call("aten.sub.Tensor", {x, b.call("aten.abs", {x})})});
}

}  // namespace sample
