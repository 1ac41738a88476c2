// A build without the library.
#include "runtime/exec/method_harness.h"
#include "wick/xnnpack_backend.h"

namespace wick {
namespace {

TEST(XnnpackStub, SaysThatTheLibraryIsMissing) {
  schema::TestProgram program;
  program.delegate(xnnpack_backend().id, {1, 2, 3});
  MethodHarness harness(program);
  harness.backends = {&xnnpack_backend()};
  EXPECT_EQ(harness.load(), Error::DelegateInvalidCompatibility);
  EXPECT_NE(harness.text.find("this build of Wick has no XNNPACK library"), std::string::npos) << harness.text;
  EXPECT_FALSE(has_xnnpack_library());
}

}  // namespace
}  // namespace wick
