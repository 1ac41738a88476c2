// einsum: parses the equation, then contracts from left to right by batched matmuls.
#include <algorithm>
#include <map>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/sharing.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

// Labels are letters; '.' + k stands for the k-th dimension of the ellipsis, counted from its end, as 256 + k.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

struct Operand {
  Value* value;
  Labels labels;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Labels of one term; the ellipsis appears as the single label kEllipsis.
Labels parse_term(std::string_view text) {
  Labels out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      require(text.substr(i, 3) == "..." && std::find(out.begin(), out.end(), kEllipsis) == out.end(),
              "einsum: a malformed ellipsis");
      out.push_back(kEllipsis);
      i += 2;
    } else {
      require(is_letter(text[i]), "einsum: an invalid character in the equation");
      out.push_back(text[i]);
    }
  }
  return out;
}

// Replaces kEllipsis by `count` labels, the last dimension having number 0.
Labels open_ellipsis(const Labels& labels, size_t count) {
  Labels out;
  for (Label label : labels) {
    if (label != kEllipsis)
      out.push_back(label);
    else
      for (size_t i = count; i-- > 0;) out.push_back(kEllipsis + static_cast<Label>(i));
  }
  return out;
}

struct Equation {
  std::vector<Operand> operands;
  Labels output;
};

Equation parse_equation(const std::string& text, const Values& tensors) {
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation eq;
  size_t start = 0, widest = 0;
  std::vector<Labels> terms;
  for (size_t i = 0; i <= left.size(); ++i) {
    if (i < left.size() && left[i] != ',') continue;
    terms.push_back(parse_term(std::string_view(left).substr(start, i - start)));
    start = i + 1;
  }
  require(terms.size() == tensors.size(), "einsum: the equation has a different number of operands");
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = std::find(terms[i].begin(), terms[i].end(), kEllipsis) != terms[i].end();
    const size_t letters = terms[i].size() - (open ? 1 : 0), rank = tensors[i]->rank();
    require(open ? letters <= rank : letters == rank, "einsum: labels and dimensions differ in number");
    eq.operands.push_back({tensors[i], open_ellipsis(terms[i], rank - letters)});
    if (open) widest = std::max(widest, rank - letters);
  }
  if (arrow != std::string::npos) {
    eq.output = open_ellipsis(parse_term(std::string_view(text).substr(arrow + 2)), widest);
    return eq;
  }
  // Implicit output: the ellipsis, then letters that occur once, sorted.
  std::map<Label, int> count;
  for (const Operand& operand : eq.operands) {
    for (Label label : operand.labels) ++count[label];
  }
  eq.output = open_ellipsis({kEllipsis}, widest);
  for (const auto& [label, times] : count) {
    if (label < kEllipsis && times == 1) eq.output.push_back(label);
  }
  return eq;
}

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Replaces a label that an operand has twice by the diagonal, which diagonal() puts last.
void take_diagonals(Builder& b, Operand& operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    for (size_t j = i + 1; j < operand.labels.size(); ++j) {
      if (operand.labels[i] != operand.labels[j]) continue;
      require_equal(operand.value->sizes()[i], operand.value->sizes()[j], "einsum: sizes of a repeated label");
      const Label label = operand.labels[i];
      operand.value = b.call("aten.diagonal", {operand.value, 0, static_cast<int64_t>(i), static_cast<int64_t>(j)});
      operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(j));
      operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(i));
      operand.labels.push_back(label);
      return take_diagonals(b, operand);
    }
  }
}

// Sums over the labels that are not wanted.
void sum_out(Compose& c, Operand& operand, const Labels& wanted) {
  std::vector<int64_t> dims;
  Labels kept;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (contains(wanted, operand.labels[i]))
      kept.push_back(operand.labels[i]);
    else
      dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return;
  operand.value = c.sum(operand.value, dims);
  operand.labels = kept;
}

Sym size_of(const Operand& operand, Label label) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (operand.labels[i] == label) return operand.value->sizes()[i];
  }
  return Sym(1);
}

// The operand as [batch.., rows.., inner..] or any other grouping, flattened to three dimensions.
Value* grouped(Builder& b, const Operand& operand, const Labels* const (&groups)[3], const Sizes (&sizes)[3]) {
  std::vector<int64_t> order;
  Sizes flat;
  for (int g = 0; g < 3; ++g) {
    for (Label label : *groups[g]) {
      order.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin());
    }
    flat.push_back(numel(sizes[g]));
  }
  return b.reshape(b.permute(operand.value, order), std::move(flat));
}

// Expands labels of size 1 in `operand` to the size in `other`.
void expand_shared(Builder& b, Operand& operand, const Labels& labels, const Operand& other) {
  Sizes sizes = operand.value->sizes();
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (!contains(labels, operand.labels[i])) continue;
    const Sym theirs = size_of(other, operand.labels[i]);
    if (sizes[i].is(1))
      sizes[i] = theirs;
    else if (!theirs.is(1))
      require_equal(sizes[i], theirs, "einsum: sizes of a label");
  }
  operand.value = b.expand(operand.value, std::move(sizes));
}

// The product of two operands, with the labels `wanted`. Batch labels are in both operands and wanted; inner labels are
// in both and not wanted.
Operand contract(Compose& c, Operand x, Operand y, const Labels& wanted) {
  Builder& b = c.b;
  Labels needed_x = wanted, needed_y = wanted;
  needed_x.insert(needed_x.end(), y.labels.begin(), y.labels.end());
  needed_y.insert(needed_y.end(), x.labels.begin(), x.labels.end());
  sum_out(c, x, needed_x);
  sum_out(c, y, needed_y);
  Labels batch, inner, rows, columns;
  for (Label label : x.labels) {
    if (!contains(y.labels, label))
      rows.push_back(label);
    else
      (contains(wanted, label) ? batch : inner).push_back(label);
  }
  for (Label label : y.labels) {
    if (!contains(x.labels, label)) columns.push_back(label);
  }
  Labels shared = batch;
  shared.insert(shared.end(), inner.begin(), inner.end());
  expand_shared(b, x, shared, y);
  expand_shared(b, y, shared, x);
  auto sizes_of = [](const Operand& operand, const Labels& labels) {
    Sizes sizes;
    for (Label label : labels) sizes.push_back(size_of(operand, label));
    return sizes;
  };
  const Sizes sb = sizes_of(x, batch), si = sizes_of(x, inner), sr = sizes_of(x, rows), sc = sizes_of(y, columns);
  Operand out;
  out.labels = batch;
  out.labels.insert(out.labels.end(), rows.begin(), rows.end());
  out.labels.insert(out.labels.end(), columns.begin(), columns.end());
  Sizes full = sb;
  full.insert(full.end(), sr.begin(), sr.end());
  full.insert(full.end(), sc.begin(), sc.end());
  Value* left = grouped(b, x, {&batch, &rows, &inner}, {sb, sr, si});
  Value* right = grouped(b, y, {&batch, &inner, &columns}, {sb, si, sc});
  if (inner.empty()) {
    out.value = c.mul(left, right);  // [batch, rows, 1] * [batch, 1, columns]
  } else if (batch.empty()) {
    out.value = b.call("aten.mm", {b.squeeze(left, 0), b.squeeze(right, 0)});
  } else {
    out.value = b.call("aten.bmm", {left, right});
  }
  out.value = b.reshape(out.value, std::move(full));
  return out;
}

Results decompose_einsum(Builder& b, Node& node) {
  Compose c(b);
  Equation eq = parse_equation(node.string("equation"), node.tensors("tensors"));
  for (Operand& operand : eq.operands) take_diagonals(b, operand);
  for (size_t i = 0; i < eq.output.size(); ++i) {
    const auto rest = eq.output.begin() + static_cast<int64_t>(i);
    require(std::find(rest + 1, eq.output.end(), *rest) == eq.output.end(), "einsum: an output label occurs twice");
    const bool known = std::any_of(eq.operands.begin(), eq.operands.end(),
                                   [&](const Operand& o) { return contains(o.labels, *rest); });
    require(known, "einsum: an output label is in no operand");
  }
  Operand out = eq.operands[0];
  for (size_t i = 1; i < eq.operands.size(); ++i) {
    Labels wanted = eq.output;
    for (size_t j = i + 1; j < eq.operands.size(); ++j) {
      wanted.insert(wanted.end(), eq.operands[j].labels.begin(), eq.operands[j].labels.end());
    }
    out = contract(c, std::move(out), eq.operands[i], wanted);
  }
  sum_out(c, out, eq.output);
  std::vector<int64_t> order;
  for (Label label : eq.output)
    order.push_back(std::find(out.labels.begin(), out.labels.end(), label) - out.labels.begin());
  return {b.permute(out.value, order)};
}

// With one operand, einsum is a view of it unless a label is summed.
Sharing shares_unless_summed(const SharingCall& call) {
  const Values tensors = call.node.tensors("tensors");
  if (tensors.size() != 1) return {};
  const Equation eq = parse_equation(call.node.string("equation"), tensors);
  const Labels& labels = eq.operands[0].labels;
  const bool summed =
      std::any_of(labels.begin(), labels.end(), [&](Label label) { return !contains(eq.output, label); });
  return summed ? Sharing{} : shares::always(call);
}

}  // namespace

const OpDef kEinsumRows[] = {
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", nullptr, decompose_einsum, nullptr,
     shares_unless_summed},
};
const size_t kEinsumCount = std::size(kEinsumRows);

}  // namespace wick::compiler
