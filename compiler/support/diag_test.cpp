#include "compiler/support/diag.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

TEST(Diag, RendersEveryPartInAFixedOrder) {
  Diag diag = Diag(Code::unsupported_op, "xnnpack does not take softmax over dim 1")
                  .in({"model.pt2", "encoder.attn", "model.py:118", "softmax"})
                  .expected("dim = 1, rank = 3", "dim = 2 (last)")
                  .with_help("leave it to the portable kernels, or transpose around it")
                  .note("while lowering partition 3");
  EXPECT_EQ(render(diag),
            "error[unsupported-op]: xnnpack does not take softmax over dim 1\n"
            "  at     encoder.attn.softmax (model.py:118) in model.pt2\n"
            "  found  dim = 1, rank = 3        wanted  dim = 2 (last)\n"
            "  help   leave it to the portable kernels, or transpose around it\n"
            "  note   while lowering partition 3\n");
}

TEST(Diag, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(render(Diag(Code::file_io, "cannot open it").at_file("a b.pt2")),
            "error[file-io]: cannot open it\n  at     a b.pt2\n");
  EXPECT_EQ(render(Diag(Code::internal, "oops")), "error[internal]: oops\n");
}

TEST(Diag, PutsLongFoundAndWantedOnTwoLines) {
  const std::string longer(80, 'x');
  EXPECT_EQ(render(Diag(Code::limit, "m").expected(longer, "short")),
            "error[limit]: m\n  found  " + longer + "\n  wanted short\n");
}

TEST(Diag, EscapesControlCharactersInMessagesButNotQuotes) {
  EXPECT_EQ(render(Diag(Code::usage, "bad \"x\"\x1b[31m\n\xff")), "error[usage]: bad \"x\"\\x1b[31m\\n\\xff\n");
}

TEST(Diag, CodesHaveDashedNamesAndExitCodes) {
  EXPECT_STREQ(code_name(Code::incompatible_file), "incompatible-file");
  EXPECT_STREQ(code_name(Code::unsupported_model), "unsupported-model");
  EXPECT_EQ(exit_code(Code::internal), 1);
  EXPECT_EQ(exit_code(Code::file_io), 2);
  EXPECT_EQ(exit_code(Code::limit), 3);
  EXPECT_EQ(exit_code(Code::missing_tool), 3);
  EXPECT_EQ(exit_code(Code::corrupt_file), 4);
  EXPECT_EQ(exit_code(Code::numeric_mismatch), 5);
  EXPECT_EQ(exit_code(Code::budget), 6);
}

TEST(Printable, KeepsValidUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("ключ é 😀"), "ключ é 😀");
  EXPECT_EQ(printable("a\"b'c\\d"), "a\\\"b\\'c\\\\d");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\u{202e}");        // right-to-left override
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");           // cut short
}

TEST(Printable, CutsLongNames) { EXPECT_EQ(printable("abcdef", 3), "abc..."); }

TEST(Printable, KeepsQuotesOfSentences) { EXPECT_EQ(printable_sentence("a file's \"x\"\n"), "a file's \"x\"\\n"); }

}  // namespace
}  // namespace wick::compiler
