#include "cli/commands/run_test_sets.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "cli/arrays/array_compare.h"
#include "cli/arrays/array_summary.h"
#include "cli/program/program_inputs.h"
#include "compiler/support/json_writer.h"
#include "runtime/module/host_tensor.h"
#include "runtime/program/tensor_layout.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::JsonWriter;
using compiler::printable;
using compiler::Result;
using compiler::Status;

/// A set of a suite; `number` counts the sets of its method.
struct SetPlace {
  const char* method;  // in the file
  size_t suite, set, number;
  std::string text() const { return fmt::format("test set {} of method '{}'", number, printable(method)); }
};

struct OutputResult {
  std::string name;
  Difference difference;
};

HostTensor row_major(const TensorMeta& meta) {
  int32_t sizes[kMaxRank], strides[kMaxRank];
  Tensor tensor;
  (void)describe_tensor(meta, sizes, strides, &tensor);  // cannot fail: the file was checked
  tensor.data = const_cast<uint8_t*>(meta.bytes.data());
  HostTensor host = to_host(tensor);
  if (host.dtype == DType::boolean) {
    for (uint8_t& byte : host.bytes) byte = byte != 0;  // any byte but 0 is true, as in .npz files
  }
  return host;
}

HostValue host_value(const ValueMeta& value) {
  switch (value.tag) {
    case Tag::tensor: return HostValue(row_major(value.tensor));
    case Tag::integer: return HostValue::of_int(value.integer);
    case Tag::boolean: return HostValue::of_bool(value.boolean);
    default: return HostValue::of_real(value.real);
  }
}

std::vector<SetPlace> places_of(const BundledProgram& bundled, const std::string& method) {
  std::vector<SetPlace> places;
  std::map<std::string_view, size_t> counts;
  for (size_t suite = 0; suite < bundled.num_suites(); ++suite) {
    const char* name = bundled.method(suite);
    if (!method.empty() && name != method) continue;
    size_t& count = counts[name];
    for (size_t set = 0; set < bundled.num_sets(suite); ++set) places.push_back({name, suite, set, count++});
  }
  return places;
}

Diag misfit(const SetPlace& place, std::string what) {
  return Diag(Code::corrupt_file, fmt::format("{} does not fit the program: {}", place.text(), what));
}

std::string found_type(const ValueMeta& value) {
  if (value.tag != Tag::tensor) return value_text(value);
  return array_text(value.tensor.dtype, {value.tensor.sizes.begin(), value.tensor.sizes.end()});
}

Result<std::vector<HostValue>> test_inputs(const BundledProgram& bundled, const SetPlace& place, const MethodMeta& meta,
                                           const MethodFacts& facts) {
  const size_t count = bundled.num_inputs(place.suite, place.set);
  if (count != meta.num_inputs()) {
    return misfit(place, "another number of inputs")
        .expected(fmt::format("{}", count), fmt::format("{}", meta.num_inputs()));
  }
  std::vector<HostValue> types;  // tensors without elements: nothing is copied before all inputs fit
  for (size_t i = 0; i < count; ++i) {
    const ValueMeta found = bundled.input(place.suite, place.set, i), wanted = meta.input_value(i);
    bool fits = found.tag == wanted.tag;
    if (fits && found.tag == Tag::tensor)
      fits = found.tensor.dtype == wanted.tensor.dtype && found.tensor.sizes.size() == wanted.tensor.sizes.size();
    if (!fits) {
      return misfit(place, fmt::format("input {} has another type", i))
          .expected(found_type(found), input_text(meta, facts, i));
    }
    HostTensor type{found.tensor.dtype, {found.tensor.sizes.begin(), found.tensor.sizes.end()}, {}};
    types.push_back(found.tag == Tag::tensor ? HostValue(std::move(type)) : host_value(found));
  }
  RETURN_IF_ERROR(check_sizes(meta, facts, types));
  std::vector<HostValue> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(host_value(bundled.input(place.suite, place.set, i)));
  return inputs;
}

/// None if the set expects nothing.
Result<std::vector<OutputResult>> run_set(Session& session, const SetPlace& place, const MethodFacts& facts) {
  const BundledProgram& bundled = *session.bundled();
  const MethodMeta meta = session.meta(place.method);
  const size_t count = bundled.num_outputs(place.suite, place.set);
  if (count != 0 && count != meta.num_outputs()) {
    return misfit(place, "another number of outputs")
        .expected(fmt::format("{}", count), fmt::format("{}", meta.num_outputs()));
  }
  ASSIGN_OR_RETURN(const std::vector<HostValue> inputs, test_inputs(bundled, place, meta, facts));
  std::vector<HostValue> outputs;
  RETURN_IF_ERROR(session.execute(place.method, inputs, &outputs));
  std::vector<OutputResult> results;
  for (size_t i = 0; i < count; ++i) {
    // Values without an array are None or strings, which no set can expect.
    const ValueMeta expected = bundled.output(place.suite, place.set, i);
    if (outputs[i].tag != expected.tag) {
      return misfit(place, fmt::format("output {} is of another kind", i))
          .expected(found_type(expected), value_text(meta.output_value(i)));
    }
    const NamedArray found = to_array(output_name(facts, i), std::move(outputs[i]));
    results.push_back({found.name, compare_arrays(found, to_array(found.name, host_value(expected)), {})});
  }
  return results;
}

void print_set(const SetPlace& place, const std::vector<OutputResult>& results, bool ok) {
  std::string text = results.empty() ? "expects no outputs" : "";
  for (const OutputResult& result : results) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", result.name, to_text(result.difference));
  }
  const char* verdict = results.empty() ? "ran" : ok ? "ok" : "FAIL";
  fmt::print("{} set {}: {}  {}\n", printable(place.method), place.number, verdict, text);
}

void write_set(const SetPlace& place, const std::vector<OutputResult>& results, bool ok, JsonWriter& json) {
  json.object();
  json.field("method", place.method);
  json.field("set", static_cast<uint64_t>(place.number));
  json.field("ok", ok);
  json.key("outputs");
  json.array();
  for (const OutputResult& result : results) {
    json.object();
    json.field("name", result.name);
    json.field("ok", result.difference.ok());
    json.field("same_type", result.difference.same_type);
    json.field("mismatches", result.difference.mismatches);
    json.field("max_abs", result.difference.max_abs);
    json.field("max_rel", result.difference.max_rel);
    json.end();
  }
  json.end();
  json.end();
}

void say_what_is_unknown(const BundledProgram& bundled) {
  if (!bundled.has_unknown_fields()) return;
  fmt::print(stderr,
             "note: the file says something about its test sets that this version of Wick does not know (format {}, "
             "known {}), such as tolerances\n",
             bundled.version(), BundledProgram::kKnownVersion);
}

Status check_places(const Session& session, const std::string& method, const std::vector<SetPlace>& places) {
  if (places.empty()) {
    return Diag(Code::usage, method.empty() ? "the program has no test sets"
                                            : fmt::format("method '{}' has no test sets", printable(method)))
        .at_file(session.path())
        .with_help("a .bpte has: executorch.devtools.BundledProgram writes it");
  }
  for (const SetPlace& place : places) {
    if (session.program().find_method(place.method).ok()) continue;
    return misfit(place, "it has no such method").at_file(session.path());
  }
  return {};
}

}  // namespace

Status run_test_sets(Session& session, const std::string& method, bool as_json) {
  std::vector<SetPlace> places;
  if (session.bundled()) places = places_of(*session.bundled(), method);
  RETURN_IF_ERROR(check_places(session, method, places));
  say_what_is_unknown(*session.bundled());
  JsonWriter json;
  json.object();
  json.field("schema", "wick.testset.1");
  json.key("sets");
  json.array();
  std::vector<std::string> failed;
  std::map<std::string_view, MethodFacts> facts;  // of the methods so far: reading them takes long
  for (const SetPlace& place : places) {
    if (facts.count(place.method) == 0) {
      ASSIGN_OR_RETURN(MethodFacts found, read_facts(session.meta(place.method)));
      facts.emplace(place.method, std::move(found));
    }
    Result<std::vector<OutputResult>> results = run_set(session, place, facts.at(place.method));
    if (!results.ok()) {
      if (results.diag().where.file.empty()) results.diag().where.file = session.path();
      return std::move(results.diag()).note("in " + place.text());
    }
    bool ok = true;
    for (const OutputResult& result : *results) ok = ok && result.difference.ok();
    if (!ok) failed.push_back(fmt::format("{} set {}", printable(place.method), place.number));
    if (as_json) {
      write_set(place, *results, ok, json);
    } else {
      print_set(place, *results, ok);
    }
  }
  json.end();
  json.field("ok", failed.empty());
  json.end();
  if (as_json) fmt::print("{}\n", json.text());
  if (failed.empty()) return {};
  return Diag(Code::numeric_mismatch, fmt::format("{} of {} test sets failed", failed.size(), places.size()))
      .at_file(session.path())
      .note(fmt::format("{}", fmt::join(failed, ", ")));
}

}  // namespace wick::cli
