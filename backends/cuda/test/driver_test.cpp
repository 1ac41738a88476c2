// Messages if there is no driver, no device, no code for it, too little memory, or if a kernel fails.
#include "backends/cuda/runtime/driver.h"

#include <stdlib.h>

#include "backends/cuda/runtime/device_name.h"
#include "backends/cuda/test/runtime_test_support.h"

namespace wick::cuda {
namespace {

std::string load_text(const TestDelegate& delegate, const std::string& device, Error code) {
  MethodHarness harness(delegate.program());
  harness.backends = {&cuda_backend()};
  harness.options.delegates.device = device.c_str();
  EXPECT_EQ(harness.load(), code);
  return harness.text;
}
void expect_text(const std::string& found, const std::string& wanted) {
  EXPECT_NE(found.find(wanted), std::string::npos) << found;
}

TEST(CudaDriver, NamesOfDevices) {
  DeviceName name;
  ASSERT_TRUE(parse_device("", &name));
  EXPECT_EQ(device_text(name), "cuda:0");
  ASSERT_TRUE(parse_device("cuda", &name));
  EXPECT_EQ(device_text(name), "cuda:0");
  ASSERT_TRUE(parse_device("cuda:12", &name));
  EXPECT_EQ(name.ordinal, 12);
  ASSERT_TRUE(parse_device("cuda-twin=a/b.so", &name));
  EXPECT_EQ(name.library, "a/b.so");
  ASSERT_TRUE(parse_device("cuda-twin=b.so", &name));
  EXPECT_EQ(name.library, "./b.so");
  for (const char* wrong : {"cud", "cudas", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:1000", "cuda-twin=", "host"})
    EXPECT_FALSE(parse_device(wrong, &name)) << wrong;
  EXPECT_FALSE(is_cuda_device(""));
  EXPECT_TRUE(is_cuda_device("cuda"));
}

TEST(CudaDriver, AMissingLibraryIsNamed) {
  const std::string text = load_text(add_delegate(), "cuda-twin=/nowhere/libx.so", Error::NotFound);
  expect_text(text, "no usable NVIDIA driver: /nowhere/libx.so cannot be opened");
  char buffer[300];
  ErrorText why(buffer);
  EXPECT_FALSE(is_cuda_available("cuda-twin=/nowhere/libx.so", &why));
  expect_text(why.c_str(), "no usable NVIDIA driver");
}

TEST(CudaDriver, ALibraryThatIsNoDriverIsNamed) {
  expect_text(load_text(add_delegate(), "cuda-twin=/lib/x86_64-linux-gnu/libm.so.6", Error::NotFound),
              "no usable NVIDIA driver: /lib/x86_64-linux-gnu/libm.so.6 ");
}

TEST(CudaDriver, NoDeviceAndTheStubOfTheToolkitAreNoDriver) {
  const std::string path = fresh_driver("no_device");
  const TestDriver driver(path);
  driver.set("no_device", 1);
  expect_text(load_text(add_delegate(), driver.device(), Error::NotFound),
              "no usable NVIDIA driver: " + path + " finds no device");
  driver.set("no_device", 0);
  driver.set("stub", 1);
  expect_text(load_text(add_delegate(), driver.device(), Error::NotFound), "is the stub of the toolkit");
  driver.set("stub", 0);
  driver.set("devices", 0);
  expect_text(load_text(add_delegate(), driver.device(), Error::NotFound), "finds no device");
  driver.set("devices", 1);
  EXPECT_TRUE(is_cuda_available(driver.device().c_str(), nullptr));
  TestRun run(add_delegate(), driver);
  EXPECT_EQ(run.load(), Error::Ok) << run.text();
}

TEST(CudaDriver, AnOldDriverIsNamedWithTheVersionThatIsNeeded) {
  const TestDriver driver(fresh_driver("old"));
  driver.set("driver_version", 12080);
  TestDelegate d = add_delegate();
  d.plan.driver_version = 13000;
  expect_text(load_text(d, driver.device(), Error::DelegateInvalidCompatibility),
              "the driver is for CUDA 12.8, the program needs one for 13.0 or newer");
  d.plan.driver_version = 12080;
  TestRun run(d, driver);
  EXPECT_EQ(run.load(), Error::Ok) << run.text();
}

TEST(CudaDriver, CodeIsChosenForTheDevice) {
  const struct {
    int architecture;
    std::vector<Module> modules;
    const char* refusal;  // the message; "": it loads
  } cases[] = {
      {90, {{90, false, "code"}}, ""},
      {86, {{80, false, "code80"}, {90, false, "code"}}, ""},
      {90, {{80, false, "none"}, {90, false, "code"}, {80, true, "none"}}, ""},
      {120, {{90, false, "none"}, {90, true, "ptx"}, {80, true, "none"}}, ""},
      {89, {{80, false, "code80"}, {80, true, "none"}}, ""},
      {86,
       {{90, false, "code"}, {90, true, "ptx"}, {100, false, "x"}},
       "has compute capability 8.6; the file has code for sm_90, PTX for 9.0, sm_100; compile the model again with "
       "code for sm_86"},
      {80, {{86, false, "code86"}}, "has code for sm_86"},
      {90, {{90, false, "none"}, {90, false, "code", true}, {90, true, "none"}}, ""},
      {90, {{90, false, "code", true}, {90, false, "none"}}, ""},
      {100, {{90, false, "none", true}, {90, true, "ptx"}}, ""},
      {103, {{90, false, "none", true}, {100, false, "none", true}}, "has code for sm_90a, sm_100a; compile the model"},
      {91,
       {{90, false, "code", true}},
       "has compute capability 9.1; the file has code for sm_90a; compile the model again with code for sm_91"},
  };
  for (const auto& each : cases) {
    const TestDriver driver;
    driver.set("architecture", each.architecture);
    TestDelegate d = add_delegate();
    d.plan.modules = each.modules;
    d.named.emplace_back("code80", cubin_for(80));
    d.named.emplace_back("code86", cubin_for(86));
    d.named.emplace_back("ptx", ".version 8.0");
    TestRun run(d, driver);
    EXPECT_EQ(run.load(), *each.refusal ? Error::DelegateInvalidCompatibility : Error::Ok) << run.text();
    expect_text(run.text(), each.refusal);
  }
}

TEST(CudaDriver, PtxThatTheDriverDoesNotKnowIsSaidToBeNewer) {
  const TestDriver driver;
  driver.set("newer_ptx", 1);
  TestDelegate d = add_delegate();
  d.plan.modules = {{80, true, "ptx"}};
  d.named.emplace_back("ptx", ".version 9.0");
  expect_text(load_text(d, driver.device(), Error::DelegateInvalidCompatibility),
              "the driver (13.0) does not take the PTX of this file, which a newer toolkit made");
}

TEST(CudaDriver, ADriverThatCannotCompileIsSaidSo) {
  const TestDriver driver;
  driver.set("no_jit", 1);
  TestDelegate d = add_delegate();
  d.plan.modules = {{80, true, "ptx"}};
  d.named.emplace_back("ptx", ".version 9.0");
  expect_text(load_text(d, driver.device(), Error::DelegateInvalidCompatibility),
              "does not take the device code of this file: error 221");
}

TEST(CudaDriver, DamagedCodeIsRefusedBeforeTheDriverSeesIt) {
  const TestDriver driver;
  TestDelegate d = add_delegate();
  d.named[0].second.resize(63);
  expect_text(load_text(d, driver.device(), Error::InvalidProgram), "the device code 'code' is damaged: it is no ELF");
  d.named[0].second = cubin_for(80);
  expect_text(load_text(d, driver.device(), Error::InvalidProgram), "for another architecture than stated");
}

TEST(CudaDriver, TooLittleMemoryIsNamedWithWhoWantsItAndWhatIsFree) {
  const TestDriver driver;
  driver.set("memory_bytes", 1000);
  TestDelegate d = dynamic_delegate();
  d.plan.arena_bytes = 1001;
  expect_text(load_text(d, driver.device(), Error::DelegateMemoryAllocationFailed),
              "the arena of method 'forward', partition 0 takes 1001 bytes on cuda-twin=" WICK_CUDA_TEST_DRIVER
              " (twin), of whose 1000 bytes 1000 are free");
  d = add_delegate("w", Floats(400, 1));
  expect_text(load_text(d, driver.device(), Error::DelegateMemoryAllocationFailed), "constant 'w' takes 1600 bytes");
  TestDelegate state = counter_delegate();
  state.plan.buffers[2].size_bytes = state.plan.state_bytes = 2048;
  expect_text(load_text(state, driver.device(), Error::DelegateMemoryAllocationFailed),
              "state 'count' takes 2048 bytes");
}

// Whichever allocation fails, earlier ones are freed, and the next load succeeds.
TEST(CudaDriver, AnyAllocationMayFail) {
  const TestDriver driver;
  for (int n = 1;; ++n) {
    driver.set("out_of_memory_at", n);
    TestRun run(counter_delegate("count", "start", {1, 2, 3, 4}), driver);
    const Error error = run.load();
    if (error == Error::Ok) {
      const Error executed = run.execute(Floats{1, 1, 1, 1});
      if (executed == Error::Ok) break;
      EXPECT_EQ(executed, Error::DelegateMemoryAllocationFailed);
      expect_text(run.last_error(), "inputs and outputs of method 'forward', partition 0 takes 512 bytes");
      ASSERT_EQ(run.execute(Floats{1, 1, 1, 1}), Error::Ok) << run.last_error();
      EXPECT_EQ(run.output(), (Floats{2, 3, 4, 5}));
      continue;
    }
    EXPECT_EQ(error, Error::DelegateMemoryAllocationFailed);
    EXPECT_EQ(driver.count("objects"), 0u);
    ASSERT_LT(n, 20);
  }
  EXPECT_EQ(driver.count("objects"), 0u);
}

TEST(CudaDriver, ADeviceThatIsNotThereIsNamed) {
  const std::string text = load_text(add_delegate(), "cuda:99", Error::NotFound);
  EXPECT_TRUE(text.find("there is no device cuda:99; the driver finds ") != std::string::npos ||
              text.find("no usable NVIDIA driver") != std::string::npos)
      << text;
  char buffer[300];
  ErrorText why(buffer);
  EXPECT_FALSE(is_cuda_available("tpu", &why));
  expect_text(why.c_str(), "tpu is no device of the CUDA backend");
}

TEST(CudaDriver, BlocksAndSharedMemoryThatTheDeviceLacksAreNamed) {
  const TestDriver driver;
  driver.set("kernel_threads", 31);
  expect_text(load_text(add_delegate(), driver.device(), Error::DelegateInvalidCompatibility),
              "kernel 'add' can run with 31 threads in a block on");
  driver.set("kernel_threads", 32);
  driver.set("shared_bytes", 100 << 10);
  TestDelegate d = add_delegate();
  d.plan.kernels[0].dynamic_shared_bytes = (100 << 10) + 1;
  expect_text(load_text(d, driver.device(), Error::DelegateInvalidCompatibility),
              "kernel 'add' takes 102401 bytes of shared memory");
  d.plan.kernels[0].dynamic_shared_bytes = 100 << 10;
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute(Floats(8, 1)), Error::Ok) << run.last_error();
}

TEST(CudaDriver, AFaultOfAKernelEndsTheUseOfTheDevice) {
  const TestDriver driver;
  {
    TestRun run(add_delegate(), driver), other(counter_delegate(), driver);
    ASSERT_EQ(run.load(), Error::Ok) << run.text();
    ASSERT_EQ(other.load(), Error::Ok) << other.text();
    driver.set("illegal_address_at", 1);
    EXPECT_EQ(run.execute(Floats(8, 1)), Error::Internal);
    expect_text(run.last_error(), "a kernel failed on cuda-twin=");
    expect_text(run.last_error(), "during method 'forward', partition 0: error 700");
    EXPECT_EQ(run.execute(Floats(8, 1)), Error::Internal);
    expect_text(run.last_error(), "cannot be used any more by this process: a kernel failed earlier, during method");
    EXPECT_EQ(other.execute(Floats(4, 1)), Error::Internal);
    expect_text(other.last_error(), "cannot be used any more by this process");
    expect_text(load_text(add_delegate(), driver.device(), Error::Internal), "cannot be used any more");
  }
  // The last user has released the context.
  EXPECT_EQ(driver.count("objects"), 0u);
  TestRun run(add_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute(Floats(8, 1)), Error::Ok) << run.last_error();
}

// The errors after which, by the driver's manual, the process must be restarted; and some other errors.
TEST(CudaDriver, FaultsOfKernelsAreToldFromRefusals) {
  for (const DriverStatus fault : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911})
    EXPECT_TRUE(poisons_context(fault)) << fault;
  for (const DriverStatus refusal : {1, 2, 201, 222, 400, 500, 600, 701, 720, 801})
    EXPECT_FALSE(poisons_context(refusal)) << refusal;
}

TEST(CudaDriver, AContextOfTheCallerStaysCurrentWhenOursCannotBe) {
  const TestDriver driver;
  TestRun run(add_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  void* context = nullptr;
  ASSERT_EQ(driver.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), 0);
  ASSERT_EQ(driver.function<int(void*)>("cuCtxPushCurrent_v2")(context), 0);
  driver.set("no_push", 1);
  (void)run.execute(Floats(8, 1));
  driver.set("no_push", 0);
  EXPECT_EQ(driver.function<int(void**)>("cuCtxPopCurrent_v2")(&context), 0);
  EXPECT_EQ(driver.function<int(int)>("cuDevicePrimaryCtxRelease_v2")(0), 0);
}

TEST(CudaDriver, WithDebuggingAFaultNamesTheKernel) {
  setenv("WICK_CUDA_DEBUG", "1", 1);
  const TestDriver driver;
  TestRun run(dynamic_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  unsetenv("WICK_CUDA_DEBUG");
  driver.set("launch_fails_at", 2);
  EXPECT_EQ(run.execute_sized(2, {1, 2}), Error::Internal);
  expect_text(run.last_error(), "during method 'forward', partition 0, node 1, kernel 'add': error 719");
}

TEST(CudaDriver, TheEnvironmentMakesTheStandInFail) {
  setenv("WICK_TWIN", "devices=1,no_device=1", 1);
  const std::string device = "cuda-twin=" + fresh_driver("environment");
  expect_text(load_text(add_delegate(), device, Error::NotFound), "finds no device");
  unsetenv("WICK_TWIN");
}

// The driver of this machine: it works, or is reported missing.
TEST(CudaDriver, TheSystemsDriverAnswersOrIsMissedInWords) {
  char buffer[400];
  ErrorText why(buffer);
  if (is_cuda_available("cuda", &why)) return;
  expect_text(why.c_str(), "no usable NVIDIA driver: libcuda.so.1 ");
}

}  // namespace
}  // namespace wick::cuda
