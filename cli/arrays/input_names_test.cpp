#include "cli/arrays/input_names.h"

#include <gtest/gtest.h>

namespace wick::cli {
namespace {

const WantedInputs kInputs = {{"input_ids", "attention_mask"}, {0, 1}};

InputFile file_of(const std::vector<std::string>& names) {
  InputFile file{"in.npz", {}};
  for (const std::string& name : names) file.arrays.push_back({name, DType::f32, {}, std::vector<uint8_t>(4)});
  return file;
}

std::vector<std::string> names_of(const InputFile& file) {
  std::vector<std::string> names;
  for (const NamedArray& array : file.arrays) names.push_back(array.name);
  return names;
}

std::string refusal(const std::vector<std::string>& names, bool known = true) {
  InputFile file = file_of(names);
  WantedInputs inputs = kInputs;
  inputs.known = known;
  const auto by_name = order_by_names(inputs, 0, file);
  return by_name.ok() ? "" : render(by_name.diag());
}

bool goes_by_name(const std::vector<std::string>& names) {
  InputFile file = file_of(names);
  const auto by_name = order_by_names(kInputs, 0, file);
  return by_name.ok() && *by_name;
}

TEST(InputNames, AllNamesOfInputsGoByName) {
  EXPECT_TRUE(goes_by_name({"attention_mask", "input_ids"}));
  EXPECT_TRUE(goes_by_name({"attention_mask"})) << "another file may have the rest";
}

TEST(InputNames, NumberedArraysGoByTheirNumbers) {
  for (const auto& names : {std::vector<std::string>{"in1", "in0"}, {"arr_1", "arr_0"}}) {
    InputFile file = file_of(names);
    const auto by_name = order_by_names(kInputs, 0, file);
    ASSERT_TRUE(by_name.ok());
    EXPECT_FALSE(*by_name);
    EXPECT_EQ(names_of(file), (std::vector<std::string>{names[1], names[0]}));
  }
}

TEST(InputNames, ElevenArraysAreNotOrderedAsText) {
  std::vector<std::string> names, sorted;
  for (const int i : {0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9}) names.push_back("in" + std::to_string(i));
  for (int i = 0; i < 11; ++i) sorted.push_back("in" + std::to_string(i));
  InputFile file = file_of(names);
  ASSERT_TRUE(order_by_names(kInputs, 0, file).ok()) << "the count is checked with the other files";
  EXPECT_EQ(names_of(file), sorted);
}

TEST(InputNames, NumbersWithAGapAreRefused) {
  EXPECT_NE(refusal({"in0", "in2"}).find("in0, in2"), std::string::npos);
  EXPECT_NE(refusal({"arr_1", "arr_2"}), "");
  EXPECT_NE(refusal({"in0", "in0"}), "");
  InputFile rest = file_of({"in2", "in1"}), beyond = file_of({"in2", "in3"}), around_none = file_of({"in0", "in2"});
  EXPECT_TRUE(order_by_names({{"a", "b", "c"}, {0, 1, 2}}, 1, rest).ok()) << "the file before has in0";
  EXPECT_FALSE(order_by_names({{"a", "b", "c"}, {0, 1, 2}}, 1, beyond).ok());
  EXPECT_TRUE(order_by_names({{"a", "c"}, {0, 2}}, 0, around_none).ok()) << "the input between is None";
}

TEST(InputNames, ALoneArrayHasNoName) { EXPECT_EQ(refusal({""}), ""); }

TEST(InputNames, AMisspeltNameIsRefusedWithTheOneThatWasMeant) {
  const std::string text = refusal({"attention_mask", "input_idz"});
  EXPECT_NE(text.find("error[usage]"), std::string::npos) << text;
  EXPECT_NE(text.find("attention_mask, input_idz"), std::string::npos) << text;
  EXPECT_NE(text.find("input_ids, attention_mask"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'input_ids' instead of 'input_idz'?"), std::string::npos) << text;
  EXPECT_NE(refusal({"attention_masks", "input_id"}).find("did you mean 'attention_mask'"), std::string::npos);
}

TEST(InputNames, NamesThatSayNothingAreRefusedWhereOrderMatters) {
  EXPECT_NE(refusal({"mask", "tokens"}).find("or in0, in1, .."), std::string::npos);
  EXPECT_NE(refusal({"in0", "arr_1"}), "");
  EXPECT_NE(refusal({"in0", "in01"}), "") << "no number";
  EXPECT_NE(refusal({"in0", "input_ids"}), "") << "one by name, one in order";
  EXPECT_NE(refusal({"input_ids", "attention_mask"}, false).find("does not store input names"), std::string::npos);
  InputFile one = file_of({"anything"});
  const auto by_name = order_by_names({{"image"}, {0}}, 0, one);
  ASSERT_TRUE(by_name.ok());
  EXPECT_FALSE(*by_name) << "one input: nothing can change places";
}

}  // namespace
}  // namespace wick::cli
