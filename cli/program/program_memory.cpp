#include "cli/program/program_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/text/text.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/support/diag.h"

namespace wick::cli {
namespace {

void sort_blocks(ArenaPicture* picture) {
  std::stable_sort(picture->blocks.begin(), picture->blocks.end(), [](const ArenaBlock& a, const ArenaBlock& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.first < b.first;
  });
}

bool alive(const ArenaBlock& block, uint32_t instruction) {
  return block.state || (block.first <= instruction && instruction <= block.last);
}

constexpr size_t kMostWork = 100'000'000;

// Views share bytes, so the live bytes are the union of the live ranges. Blocks are sorted by offset.
uint64_t live_at(const ArenaPicture& picture, uint32_t instruction) {
  uint64_t live = 0, end = 0;
  for (const ArenaBlock& block : picture.blocks) {
    if (!alive(block, instruction)) continue;
    const uint64_t start = std::max(block.offset, end), stop = block.offset + block.size_bytes;
    if (stop > start) live += stop - start;
    end = std::max(end, stop);
  }
  return live;
}

// XML text: what is not plain printable ASCII is already escaped by printable().
std::string xml(std::string_view text) {
  std::string out;
  for (char c : compiler::printable(text, 80)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// Lifetimes of the tensors of a method, by value.
class Lifetimes {
 public:
  explicit Lifetimes(const MethodMeta& method) : method_(method) {}

  std::vector<ArenaBlock> collect() {
    uint32_t position = 0;
    for (size_t i = 0; i < method_.num_inputs(); ++i) touch(method_.input(i), 0);
    for (size_t chain = 0; chain < method_.num_chains(); ++chain) {
      for (size_t i = 0; i < method_.num_instructions(chain); ++i, ++position)
        walk(method_.instruction(chain, i), position);
    }
    for (size_t i = 0; i < method_.num_outputs(); ++i) touch(method_.output(i), position);
    std::vector<ArenaBlock> blocks;
    for (const auto& [place, block] : blocks_) blocks.push_back(block);
    return blocks;
  }

 private:
  void walk(const InstructionMeta& instruction, uint32_t position) {
    for (int32_t arg : instruction.args) touch(static_cast<uint32_t>(arg), position);
    if (instruction.kind == InstructionKind::move) touch(instruction.target, position);
    if (instruction.kind == InstructionKind::move || instruction.kind == InstructionKind::jump_false)
      touch(instruction.value, position);
  }

  void touch(uint32_t index, uint32_t position) {
    const ValueMeta value = method_.value(index);
    for (int32_t item : value.tensor_items) {
      if (item >= 0) touch(static_cast<uint32_t>(item), position);
    }
    if (value.tag != Tag::tensor || value.tensor.storage != Storage::planned || value.tensor.arena != 0 ||
        value.tensor.nbytes == 0)
      return;
    auto [it, fresh] = blocks_.try_emplace({value.tensor.arena_offset, index});
    ArenaBlock& block = it->second;
    block.last = position;
    if (!fresh) return;
    block.offset = value.tensor.arena_offset;
    block.size_bytes = value.tensor.nbytes;
    block.first = position;
    block.state = value.tensor.initialized || value.tensor.name != nullptr;
    block.label = value.tensor.name ? value.tensor.name : fmt::format("value {}", index);
  }

  const MethodMeta& method_;
  std::map<std::pair<uint64_t, uint32_t>, ArenaBlock> blocks_;
};

}  // namespace

ArenaPicture arena_picture(const compiler::MethodPlan& plan) {
  ArenaPicture picture;
  picture.arena_bytes = plan.arena_bytes;
  picture.lower_bound_bytes = plan.arena_lower_bound_bytes;
  picture.above_lower_bound = compiler::above_lower_bound(plan);
  picture.num_instructions = static_cast<uint32_t>(plan.instructions.size());
  for (const compiler::Storage& storage : plan.storages) {
    const bool state = storage.kind == compiler::Storage::Kind::state;
    if (storage.size_bytes == 0 || storage.on_device ||
        !(state || (storage.kind == compiler::Storage::Kind::arena && storage.used)))
      continue;
    picture.blocks.push_back({storage.offset, storage.size_bytes, storage.first, storage.last, state, storage.label});
  }
  sort_blocks(&picture);
  return picture;
}

ArenaPicture arena_picture(const MethodMeta& method) {
  ArenaPicture picture;
  if (method.num_arenas() > 0) picture.arena_bytes = method.arena_bytes(0);
  for (size_t chain = 0; chain < method.num_chains(); ++chain)
    picture.num_instructions += static_cast<uint32_t>(method.num_instructions(chain));
  picture.blocks = Lifetimes(method).collect();
  sort_blocks(&picture);
  picture.lower_bound_bytes = peak_of(picture).live_bytes;
  return picture;
}

std::vector<uint64_t> live_bytes(const ArenaPicture& picture) {
  std::vector<uint64_t> live;
  if (picture.num_instructions * picture.blocks.size() > kMostWork) return live;
  for (uint32_t i = 0; i < picture.num_instructions; ++i) live.push_back(live_at(picture, i));
  return live;
}

Peak peak_of(const ArenaPicture& picture) {
  Peak peak;
  // Live bytes only grow where a block begins.
  std::vector<uint32_t> starts{0};
  for (const ArenaBlock& block : picture.blocks) starts.push_back(block.first);
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  // Only a sample of the instructions is examined in programs that are larger than any real one.
  const size_t stride = 1 + starts.size() * picture.blocks.size() / kMostWork;
  for (size_t i = 0; i < starts.size(); i += stride) {
    const uint32_t instruction = starts[i];
    const uint64_t live = live_at(picture, instruction);
    if (live > peak.live_bytes) {
      peak.live_bytes = live;
      peak.instruction = instruction;
    }
  }
  for (const ArenaBlock& block : picture.blocks) {
    if (alive(block, peak.instruction)) peak.owners.push_back(&block);
  }
  std::stable_sort(peak.owners.begin(), peak.owners.end(),
                   [](const ArenaBlock* a, const ArenaBlock* b) { return a->size_bytes > b->size_bytes; });
  return peak;
}

std::string to_text(const ArenaPicture& picture) {
  constexpr size_t kColumns = 50;
  const uint64_t end = uint64_t{picture.num_instructions} + 1;
  std::string out = fmt::format("{:>12} {:>12}  {:<{}}  {}\n", "offset", "bytes", "time", kColumns, "holds");
  for (const ArenaBlock& block : picture.blocks) {
    const uint64_t first = block.state ? 0 : block.first, last = block.state ? end - 1 : block.last;
    std::string bar(kColumns, '.');
    for (uint64_t c = first * kColumns / end; c <= std::min<uint64_t>(kColumns - 1, last * kColumns / end); ++c)
      bar[c] = '#';
    out += fmt::format("{:>12} {:>12}  {}  {}{}\n", block.offset, block.size_bytes, bar,
                       compiler::printable(block.label, 60), block.state ? " (state)" : "");
  }
  return out;
}

std::string to_svg(const ArenaPicture& picture, const std::string& title) {
  constexpr double kWidth = 1000, kHeight = 480, kLeft = 90, kTop = 40;
  static constexpr const char* kFills[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                           "#b07aa1", "#76b7b2", "#edc948", "#9c755f"};
  const double end = static_cast<double>(picture.num_instructions) + 1;
  const double arena = static_cast<double>(std::max<uint64_t>(picture.arena_bytes, 1));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{:.0f}\" y=\"20\" font-size=\"14\">{}: arena "
      "{} bytes, lower bound {} bytes</text>\n"
      "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#f4f4f4\" stroke=\"#888\"/>\n",
      kWidth + kLeft + 20, kHeight + kTop + 40, kLeft, xml(title), picture.arena_bytes, picture.lower_bound_bytes,
      kLeft, kTop, kWidth, kHeight);
  for (size_t i = 0; i < picture.blocks.size(); ++i) {
    const ArenaBlock& block = picture.blocks[i];
    const double first = block.state ? 0 : block.first, last = block.state ? end : block.last + 1.0;
    const double x = kLeft + kWidth * first / end, width = kWidth * (last - first) / end;
    const double height = kHeight * static_cast<double>(block.size_bytes) / arena;
    const double y = kTop + kHeight * (1 - static_cast<double>(block.offset) / arena) - height;
    out += fmt::format(
        "<g><rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" fill-opacity=\"0.75\" "
        "stroke=\"white\" "
        "stroke-width=\"0.5\"/><title>{}: {} bytes at {}, instructions {} to {}</title>",
        x, y, width, height, block.state ? "#bab0ac" : kFills[i % std::size(kFills)], xml(block.label),
        block.size_bytes, block.offset, block.first, block.last);
    if (width > 60 && height > 13)
      out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"white\">{}</text>", x + 4, y + height / 2 + 4,
                         xml(block.label.substr(0, static_cast<size_t>(width / 7))));
    out += "</g>\n";
  }
  out += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n<text x=\"{:.0f}\" y=\"{:.0f}\" "
      "text-anchor=\"end\">0</text>\n",
      kLeft - 6, kTop + 10, bytes_text(picture.arena_bytes), kLeft - 6, kTop + kHeight);
  return out + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">instruction 0 to {}</text>\n</svg>\n", kLeft,
                           kTop + kHeight + 18, picture.num_instructions);
}

}  // namespace wick::cli
