#include "compiler/import/archive/archive.h"

#include <gtest/gtest.h>

#include "compiler/import/archive/archive_test_writer.h"

namespace wick::compiler::pt2::archive_test {
namespace {

std::string text_of(Span<const uint8_t> bytes) { return std::string(bytes.begin(), bytes.end()); }

// The error of opening `bytes`; "" if it succeeds.
std::string refusal(const std::string& bytes) {
  const Result<Archive> archive = Archive::open(bytes_of(bytes), "m.pt2");
  return archive.ok() ? "" : render(archive.diag());
}

#define EXPECT_ARCHIVE_REFUSED(bytes, ...)                                                                   \
  do {                                                                                                       \
    const std::string text = refusal(bytes);                                                                 \
    for (const char* part : {__VA_ARGS__}) EXPECT_NE(text.find(part), std::string::npos) << "got: " << text; \
  } while (false)

TEST(Archive, FindsEntriesWithoutTheirFolderAndCopiesNothing) {
  const std::string bytes = test_archive().bytes();
  const Result<Archive> archive = Archive::open(bytes_of(bytes), "m.pt2");
  ASSERT_TRUE(archive.ok()) << render(archive.diag());
  const Entry* entry = archive->find("data/weights/weight_0");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(text_of(entry->data), std::string(16, '\1'));
  EXPECT_GE(entry->data.data(), bytes_of(bytes).begin());
  EXPECT_LE(entry->data.end(), bytes_of(bytes).end());
  EXPECT_EQ((entry->data.data() - bytes_of(bytes).data()) % 64, 0);
  EXPECT_EQ(archive->find("m/archive_format"), nullptr);
  EXPECT_EQ(archive->find("nothing"), nullptr);
  EXPECT_EQ(archive->entries().size(), 11u);
}

TEST(Archive, ReadsPlainAndZip64EndRecordsAndZip64Sizes) {
  TestZip zip = test_archive();
  zip.zip64_end = false;
  EXPECT_EQ(refusal(zip.bytes()), "");
  zip.comment = "a comment";
  EXPECT_EQ(refusal(zip.bytes()), "");
  zip.zip64_end = true;
  zip.zip64_sizes = true;
  EXPECT_EQ(refusal(zip.bytes()), "");
}

TEST(Archive, SkipsFoldersThatZipToolsAdd) {
  TestZip zip = test_archive();
  zip.add("m/data/", "");
  const std::string bytes = zip.bytes();
  const Result<Archive> archive = Archive::open(bytes_of(bytes), "m.pt2");
  ASSERT_TRUE(archive.ok()) << render(archive.diag());
  EXPECT_EQ(archive->entries().size(), 11u);
}

TEST(Archive, ChecksumsTellDamagedData) {
  std::string bytes = test_archive().bytes();
  bytes[bytes.find(std::string(16, '\1'))] ^= 1;
  const Result<Archive> archive = Archive::open(bytes_of(bytes), "m.pt2");
  ASSERT_TRUE(archive.ok());
  const Status status = archive->check_crc(*archive->find("data/weights/weight_0"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(render(status.diag())
                .find("error[corrupt-file]: the data of entry \"data/weights/weight_0\" is damaged\n  at     m.pt2"),
            std::string::npos);
  EXPECT_TRUE(archive->check_crc(*archive->find("data/weights/weight_1")).ok());
}

TEST(Archive, AMissingChecksumIsReportedNotRefused) {
  TestZip zip = test_archive();
  zip.at("m/data/weights/weight_0").has_crc = false;
  const std::string bytes = zip.bytes();
  const Result<Archive> archive = Archive::open(bytes_of(bytes), "m.pt2");
  ASSERT_TRUE(archive.ok());
  EXPECT_FALSE(archive->find("data/weights/weight_0")->has_crc());
  EXPECT_TRUE(archive->find("data/weights/weight_1")->has_crc());
  EXPECT_TRUE(archive->find("data/sample_inputs/model.pt")->has_crc());
  EXPECT_TRUE(archive->check_crc(*archive->find("data/weights/weight_0")).ok());
}

TEST(Archive, RefusesHostileNames) {
  const auto with = [](const char* name) { return test_archive().add(name, "x").bytes(); };
  EXPECT_ARCHIVE_REFUSED(with("m/../x"), "corrupt-file", "has an empty, \".\" or \"..\" part");
  EXPECT_ARCHIVE_REFUSED(with("/m/x"), "is an absolute path");
  EXPECT_ARCHIVE_REFUSED(with("m//x"), "has an empty, \".\" or \"..\" part");
  EXPECT_ARCHIVE_REFUSED(with("m/a\nb"), "m/a\\nb", "has control characters");
  EXPECT_ARCHIVE_REFUSED(with("other/x"), "entry \"other/x\" is not in the archive's folder \"m/\"");
  EXPECT_ARCHIVE_REFUSED(with("m/byteorder"), "the archive has two entries named \"m/byteorder\"");
  EXPECT_ARCHIVE_REFUSED(with(("m/" + std::string(2000, 'a')).c_str()), "is empty or too long");
}

TEST(Archive, RefusesWhatTheLocalHeaderContradicts) {
  TestZip zip = test_archive();
  zip.at("m/byteorder").local_name = "m/bytesorder";
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "entry \"m/byteorder\" has a different name in its local header");
  std::string bytes = test_archive().bytes();
  bytes[8] = 8;  // method of the first local header
  EXPECT_ARCHIVE_REFUSED(bytes, "has a different format in its local header");
  bytes = test_archive().bytes();
  bytes[6] = 0;  // "sizes follow" gone: the zero sizes there now count
  EXPECT_ARCHIVE_REFUSED(bytes, "has a different size in its local header");
}

TEST(Archive, RefusesCompressedAndEncryptedEntries) {
  TestZip zip = test_archive();
  zip.at("m/byteorder").method = 8;
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "incompatible-file", "entry \"m/byteorder\" is compressed (zip method 8)",
                         "zip -0");
  zip = test_archive();
  zip.at("m/byteorder").flags = 0x0809;
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "is encrypted or patched");
}

TEST(Archive, RefusesOverlappingEntries) {
  // Two central records for the same local header would need equal names; so nest one header inside another's data.
  TestZip inner;
  inner.add("m/x", "data");
  const std::string nested = inner.bytes();
  TestZip zip = test_archive();
  zip.add("m/y", nested);
  zip.add("m/x", "data");
  std::string bytes = zip.bytes();
  const size_t first = bytes.find(nested), record = bytes.rfind("m/x") - 46;
  for (int i = 0; i < 4; ++i) bytes[record + 42 + i] = static_cast<char>(first >> (8 * i));
  EXPECT_ARCHIVE_REFUSED(bytes, "two entries overlap at byte");
}

TEST(Archive, RefusesAmbiguousOrMissingEndRecords) {
  TestZip zip = test_archive();
  TestZip other;
  other.zip64_end = false;
  zip.comment = other.bytes();  // an end record inside the comment that also reaches the file's end
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "two end records, so its content is ambiguous");
  const std::string bytes = test_archive().bytes();
  EXPECT_ARCHIVE_REFUSED(bytes.substr(0, bytes.size() - 1), "corrupt-file", "the archive has no end record");
  EXPECT_ARCHIVE_REFUSED(bytes + "x", "the archive has no end record");
  std::string moved = bytes;
  moved[moved.size() - 6] ^= 1;  // plain directory offset; the zip64 one differs now
  EXPECT_ARCHIVE_REFUSED(moved, "the archive's two end records disagree");
}

TEST(Archive, RefusesOtherKindsOfFilesAndSaysWhatToDo) {
  EXPECT_ARCHIVE_REFUSED("", "error[corrupt-file]: the file is empty");
  EXPECT_ARCHIVE_REFUSED("hello, this is text",
                         "error[incompatible-file]: this is not a .pt2 file: it is not a zip archive",
                         "torch.export.save(");
  EXPECT_ARCHIVE_REFUSED(std::string("\x80\x02}q", 4), "this is a Python pickle");
  EXPECT_ARCHIVE_REFUSED(std::string("\x18\0\0\0ET12....", 12), "this is a .pte program, which is already compiled");
  EXPECT_ARCHIVE_REFUSED(TestZip().bytes(), "the archive is empty");
  EXPECT_ARCHIVE_REFUSED(TestZip().add("m/data.pkl", "").add("m/version", "3\n").bytes(),
                         "this is a pickle archive (torch.save)");
  EXPECT_ARCHIVE_REFUSED(TestZip().add("m/data.pkl", "").add("m/constants.pkl", "").bytes(),
                         "this is a TorchScript archive");
  EXPECT_ARCHIVE_REFUSED(TestZip().add("m/data/aotinductor/model/a.so", "").bytes(),
                         "only code compiled by AOTInductor");
  EXPECT_ARCHIVE_REFUSED(TestZip().add("a.txt", "").bytes(), "this zip archive is not a .pt2 file");
}

TEST(Archive, RefusesOlderTorchExportWithTheRightAdvice) {
  const auto legacy = [](const char* version) {
    return TestZip().add("serialized_exported_program.json", "{}").add("version", version).bytes();
  };
  EXPECT_ARCHIVE_REFUSED(legacy("8.7"), "the archive of torch 2.6 or 2.7", "save it again with torch 2.9 or later");
  EXPECT_ARCHIVE_REFUSED(legacy("7.3"), "the archive of torch 2.5 or earlier",
                         "export the model with torch 2.9 or later");
  TestZip pickled = test_archive();
  pickled.remove("m/data/weights/model_weights_config.json").add("m/data/weights/model.pt", "PK");
  EXPECT_ARCHIVE_REFUSED(pickled.bytes(), "the archive of torch 2.8, whose weights are one Python pickle",
                         "save it again with torch 2.9");
}

TEST(Archive, NamesPackagesOfTheNativeBackend) {
  constexpr char kSays[] = "this is a graph of ExecuTorch's native backend (.ptn)", kHelp[] = "torch.export.save";
  TestZip package;
  package.add("program.ptg", std::string("\x10\0\0\0NPTG", 8)).add("program.safetensors", "");
  EXPECT_ARCHIVE_REFUSED(package.bytes(), "incompatible-file", kSays, kHelp);
  TestZip turned;
  turned.add("aliases.json", "{}").add("program.ptg", "NPTG");
  EXPECT_ARCHIVE_REFUSED(turned.bytes(), "incompatible-file", kSays, kHelp);
  EXPECT_ARCHIVE_REFUSED(std::string("\x10\0\0\0NPTG", 8), "incompatible-file", kSays, kHelp);
  EXPECT_ARCHIVE_REFUSED(std::string("\x10\0\0\0NPT", 7), "it is not a zip archive");
}

TEST(Archive, RefusesOtherArchiveVersionsByteOrdersAndEmptyPackages) {
  TestZip zip = test_archive();
  zip.at("m/archive_version").data = "1";
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "incompatible-file", "the archive's archive_version is \"1\"",
                         "found  1        wanted  0");
  zip = test_archive();
  zip.at("m/byteorder").data = "big";
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "the archive's byteorder is \"big\"", "little-endian machine");
  zip = test_archive();
  zip.at("m/archive_format").data = "pt3";
  EXPECT_ARCHIVE_REFUSED(zip.bytes(), "the archive's archive_format is \"pt3\"");
  EXPECT_ARCHIVE_REFUSED(test_archive().remove("m/models/model.json").bytes(), "the archive has no program");
  TestZip compiled = test_archive();
  compiled.remove("m/models/model.json").add("m/data/aotinductor/model/a.so", "");
  EXPECT_ARCHIVE_REFUSED(compiled.bytes(), "only code compiled by AOTInductor");
  EXPECT_EQ(refusal(test_archive().remove("m/byteorder").bytes()), "");
}

// The file cut after any byte, or cut before it, is refused.
TEST(Archive, EveryTruncationIsRefused) {
  const std::string bytes = test_archive().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> head(
        bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));  // exact size: ASan sees overreads
    EXPECT_FALSE(Archive::open({head.data(), head.size()}, "m.pt2").ok()) << size;
    if (size == 0) continue;
    const std::vector<uint8_t> tail(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end());
    EXPECT_FALSE(Archive::open({tail.data(), tail.size()}, "m.pt2").ok()) << size;
  }
}

}  // namespace
}  // namespace wick::compiler::pt2::archive_test
