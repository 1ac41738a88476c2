#include "compiler/support/file_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace wick::compiler {
namespace {

namespace fs = std::filesystem;

Span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
std::string text_of(Span<const uint8_t> bytes) { return std::string(bytes.begin(), bytes.end()); }

class FileMapTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wick_file_map_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

TEST_F(FileMapTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("hello")).ok());
  Result<FileMap> map = FileMap::open(path("a"));
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(text_of(map->bytes()), "hello");
}

TEST_F(FileMapTest, ReleasedPagesAreReadAgain) {
  const std::string text(100000, 'x');
  ASSERT_TRUE(write_file(path("a"), bytes_of(text)).ok());
  Result<FileMap> map = FileMap::open(path("a"));
  ASSERT_TRUE(map.ok());
  map->release(map->bytes());
  map->release(map->bytes().subspan(1, 50000));
  EXPECT_EQ(text_of(map->bytes()), text);
}

TEST_F(FileMapTest, ReleasesNothingOutsideTheMap) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("hello")).ok());
  Result<FileMap> map = FileMap::open(path("a"));
  ASSERT_TRUE(map.ok());
  std::vector<uint8_t> other(100000, 7);
  map->release({other.data(), other.size()});
  map->release({map->bytes().data(), 100000});
  EXPECT_EQ(other, std::vector<uint8_t>(100000, 7));
  EXPECT_EQ(text_of(map->bytes()), "hello");
}

TEST_F(FileMapTest, MovesOwnership) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("one")).ok());
  ASSERT_TRUE(write_file(path("b"), bytes_of("two")).ok());
  Result<FileMap> a = FileMap::open(path("a")), b = FileMap::open(path("b"));
  ASSERT_TRUE(a.ok() && b.ok());
  FileMap moved = std::move(*a);
  EXPECT_TRUE(a->bytes().empty());
  moved = std::move(*b);
  EXPECT_EQ(text_of(moved.bytes()), "two");
}

TEST_F(FileMapTest, AnEmptyFileIsEmptyBytes) {
  ASSERT_TRUE(write_file(path("e"), Span<const uint8_t>()).ok());
  Result<FileMap> map = FileMap::open(path("e"));
  ASSERT_TRUE(map.ok());
  EXPECT_TRUE(map->bytes().empty());
}

TEST_F(FileMapTest, AMissingFileIsAnErrorWithTheSystemsText) {
  Result<FileMap> map = FileMap::open(path("none"));
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.diag().code, Code::file_io);
  EXPECT_NE(map.diag().message.find("No such file or directory"), std::string::npos) << map.diag().message;
  EXPECT_EQ(map.diag().help, "check the spelling of the path and that its folder exists");
}

TEST_F(FileMapTest, FoldersAndPipesAreRefused) {
  Result<FileMap> map = FileMap::open(folder_.string());
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.diag().help, "name a file, not a folder");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  Result<FileMap> pipe = FileMap::open(path("pipe"));
  ASSERT_FALSE(pipe.ok());
  EXPECT_NE(pipe.diag().message.find("not a regular file"), std::string::npos);
}

TEST_F(FileMapTest, WritingReplacesTheFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("old and longer")).ok());
  ASSERT_TRUE(write_file(path("a"), bytes_of("new")).ok());
  EXPECT_EQ(text_of(FileMap::open(path("a"))->bytes()), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1);
}

TEST_F(FileMapTest, WritingIntoAMissingFolderOrOntoAFolderFails) {
  EXPECT_EQ(write_file(path("no/such/x"), bytes_of("x")).diag().code, Code::file_io);
  EXPECT_EQ(write_file(folder_.string(), bytes_of("x")).diag().help, "name a file, not a folder");
}

TEST_F(FileMapTest, PiecesOfAllSizesAreWrittenInTheirOrder) {
  std::string wanted;
  Result<FileWriter> file = FileWriter::open(path("a"), 0);
  ASSERT_TRUE(file.ok());
  const size_t sizes[] = {0, 1, 1000, 262143, 1, 262144, 700001, 3, 262144};
  for (const size_t size : sizes) {
    std::string piece(size, 0);
    for (size_t i = 0; i < size; ++i) piece[i] = static_cast<char>((wanted.size() + i) % 251);
    wanted += piece;
    ASSERT_TRUE(file->append(bytes_of(piece)).ok());
  }
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(text_of(FileMap::open(path("a"))->bytes()), wanted);
}

TEST_F(FileMapTest, AFileHasTheSizeOfItsBytesWhateverWasForeseen) {
  const std::string text(3 << 20, 'x');
  for (const uint64_t foreseen : {uint64_t{1} << 20, uint64_t{3} << 20, uint64_t{5} << 20}) {
    Result<FileWriter> file = FileWriter::open(path("a"), foreseen);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append(bytes_of(text)).ok() && file->finish().ok());
    EXPECT_EQ(text_of(FileMap::open(path("a"))->bytes()), text);
  }
}

TEST_F(FileMapTest, WithoutItsEndAFileIsNotReplaced) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("old")).ok());
  {
    Result<FileWriter> file = FileWriter::open(path("a"), 2 << 20);
    ASSERT_TRUE(file.ok());
    FileWriter moved = std::move(*file);
    ASSERT_TRUE(moved.append(bytes_of(std::string(2 << 20, 'x'))).ok());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 2);
  }
  EXPECT_EQ(text_of(FileMap::open(path("a"))->bytes()), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1);
}

TEST_F(FileMapTest, NoneOfSeveralFilesAppearsIfOneCannotBeWritten) {
  const auto begin = [](const std::string& name) {
    Result<FileWriter> file = FileWriter::open(name, 0);
    EXPECT_TRUE(file.ok() && file->append(bytes_of("new")).ok()) << name;
    return std::move(*file);
  };
  for (const bool fails : {true, false}) {
    std::vector<FileWriter> files;
    files.push_back(begin(path("a")));
    ASSERT_TRUE(write_file(path("made"), bytes_of("by another program")).ok());
    files.push_back(FileWriter::written(path("b"), path("made")));
    if (fails) files.push_back(begin("/dev/full"));
    EXPECT_EQ(finish_all(files).ok(), !fails);
    files.clear();
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), fails ? 0 : 2);
  }
  EXPECT_EQ(text_of(FileMap::open(path("a"))->bytes()), "new");
  EXPECT_EQ(text_of(FileMap::open(path("b"))->bytes()), "by another program");
}

TEST_F(FileMapTest, AFullDeviceIsAnError) {
  EXPECT_EQ(write_file("/dev/full", bytes_of("x")).diag().help, "free some space, or write to another disk");
}

TEST_F(FileMapTest, DevicesAreWrittenDirectly) { EXPECT_TRUE(write_file("/dev/null", bytes_of("x")).ok()); }

}  // namespace
}  // namespace wick::compiler
