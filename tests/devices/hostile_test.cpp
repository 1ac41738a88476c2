// Small changes to small programs, on the boards: what the host refuses, the board refuses; nothing faults or hangs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include "devices/qemu/messages.h"
#include "runtime/program/newer_format.h"
#include "tests/devices/board_test_support.h"
#include "tests/fuzz/mutant.h"
#include "tests/support/scratch_folder.h"

namespace wick::device {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr int kMutants = 1000;
constexpr size_t kMaxProgramBytes = 10240;
constexpr uint64_t kMaxInstructions = 1000, kMaxInputBytes = 1 << 20;

// So that the kernels of each board take it.
void forget_what_it_is_for(Bytes* program) {
  const std::string_view key = kPreparedForKey;
  const auto at = std::search(program->begin(), program->end(), key.begin(), key.end());
  if (at != program->end()) *at = '-';
}

// What stock's flow wrote, and programs with operators of Wick's own.
std::vector<Bytes> seeds() {
  std::set<fs::path> paths;
  for (const char* folder : {"tests/fixtures/cortex_m", "tests/fuzz/cortex_m"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".pte" && entry.file_size() <= kMaxProgramBytes) paths.insert(entry.path());
    }
  }
  std::vector<Bytes> programs;
  for (const fs::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    programs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    forget_what_it_is_for(&programs.back());
  }
  return programs;
}

/// The first method of a program on the host, with inputs of zeros.
struct HostRun {
  std::unique_ptr<Module> module;
  std::string method;
  std::vector<HostValue> inputs;
  Error error = Error::Ok;  // of loading, or of the call
  bool is_callable = false;
  bool is_newer = false;  // refused for fields that only a newer format has; boards do not look for them

  explicit HostRun(const Bytes& program) {
    ModuleOptions options;
    for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
    options.max_instructions = kMaxInstructions;
    ModuleError failure;
    module = Module::load({program.data(), program.size()}, options, &failure);
    error = failure.code;
    if (!module) {
      const auto loaded = Program::load({program.data(), program.size()});
      is_newer = loaded.ok() && table_with_unknown_fields(*loaded);
    }
    if (!module || module->program().num_methods() == 0) return;
    const MethodMeta meta = module->program().method(0);
    method = meta.name();
    uint64_t bytes = 0;
    for (size_t i = 0; i < meta.num_inputs(); ++i) bytes += meta.input_value(i).tensor.nbytes;
    if (bytes > kMaxInputBytes || memory_bytes(meta) > kMaxInputBytes) return;
    is_callable = true;
    for (size_t i = 0; i < meta.num_inputs(); ++i) inputs.push_back(zeros(meta.input_value(i)));
    std::vector<HostValue> outputs;
    if (!module->execute(method, inputs, &outputs, &failure)) error = failure.code;
  }

 private:
  static HostValue zeros(const ValueMeta& meta) {
    switch (meta.tag) {
      case Tag::tensor:
        return HostTensor{
            meta.tensor.dtype, {meta.tensor.sizes.begin(), meta.tensor.sizes.end()}, Bytes(meta.tensor.nbytes)};
      case Tag::integer: return HostValue::of_int(meta.integer);
      case Tag::real: return HostValue::of_real(meta.real);
      case Tag::boolean: return HostValue::of_bool(meta.boolean);
      default: return {};
    }
  }
};

class Hostile : public BoardTest {
 protected:
  /// What the board says: Error::Ok if it runs the program. Fails the test if it breaks down.
  Error run_on_board(const std::string& path, const HostRun& host) {
    RequestWriter load;
    load.u32(kProtocolVersion);
    load.u64(0);
    load.u64(kMaxInstructions);
    load.u32(1);
    load.u32(1);
    load.string(path);
    const Error loaded = exchange(load.take(Request::load));
    if (loaded != Error::Ok || !host.is_callable) return loaded;
    const MethodMeta meta = host.module->program().method(0);
    RequestWriter call;
    call.string(host.method);
    call.u32(static_cast<uint32_t>(Watch::nothing));
    call.u32(static_cast<uint32_t>(host.inputs.size()));
    for (size_t i = 0; i < host.inputs.size(); ++i)
      EXPECT_TRUE(write_value(host.inputs[i], meta.input_value(i).tensor.dim_order, call));
    return exchange(call.take(Request::call));
  }

  Error exchange(const Bytes& request) {
    if (!process_) {
      auto started = QemuProcess::start(GetParam(), *find_files(GetParam()));
      if (!started.ok()) ADD_FAILURE() << compiler::render(started.diag());
      process_ = std::move(*started);
    }
    EXPECT_TRUE(process_->send(request));
    ReplyReader reply(*process_);
    Error error = Error::Ok;
    const Reply kind = static_cast<Reply>(reply.u32());
    if (kind == Reply::failed) {
      const Refusal refusal = reply.refusal();
      error = refusal.code;
      message_ = refusal.message;
    }
    if (kind == Reply::loaded) reply.u32();
    if (kind == Reply::done) {
      for (int i = 0; i < 4; ++i) reply.u32();
      const uint32_t count = reply.u32();
      for (uint32_t i = 0; reply.ok() && i < count; ++i) reply.value();
    }
    if (reply.ok()) return error;
    process_->finish();
    ADD_FAILURE() << "the board broke down: "
                  << (process_->fault() ? fmt::format("fault at 0x{:08x}, cfsr 0x{:08x}", process_->fault()->fault.pc,
                                                      process_->fault()->fault.cfsr)
                                        : process_->end_text());
    process_.reset();
    return Error::Internal;
  }

  std::unique_ptr<QemuProcess> process_;
  std::string message_;  // of the last refusal
};

TEST_P(Hostile, ProgramsGiveAnErrorOrAResult) {
  const std::vector<Bytes> programs = seeds();
  ASSERT_GE(programs.size(), 30u);
  const testing::ScratchFolder folder;
  const std::string path = folder.file("mutant.pte");
  fuzz::Random random(20261122);
  int num_refused = 0, num_run = 0;
  for (int i = 0; i < kMutants; ++i) {
    SCOPED_TRACE(i);
    const Bytes program = fuzz::mutant(programs[random.below(programs.size())], random);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
    const HostRun host(program);
    const Error found = run_on_board(path, host);
    // A board has less memory, and smaller numbers to count it with.
    const bool is_about_memory = found == Error::MemoryAllocationFailed ||
                                 host.error == Error::MemoryAllocationFailed ||
                                 (found == Error::InvalidProgram && message_.ends_with("too many bytes"));
    if (!is_about_memory && !host.is_newer) EXPECT_STREQ(error_name(found), error_name(host.error));
    ++(found == Error::Ok ? num_run : num_refused);
    if (HasFailure()) return;
  }
  EXPECT_GT(num_refused, kMutants / 10);
  EXPECT_GT(num_run, kMutants / 50);
}

INSTANTIATE_TEST_SUITE_P(Devices, Hostile, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

}  // namespace
}  // namespace wick::device
