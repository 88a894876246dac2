#include "os/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::os {
namespace {

class Bundles : public testing::Test {
 protected:
  std::string at(std::string_view name) const { return dir_ / name; }
  void put(const std::string& name, std::string_view text, mode_t mode = 0644) {
    ASSERT_TRUE(make_directories(parent_of(at(name))).ok());
    ASSERT_TRUE(append_file(at(name), text, Sync::no).ok());
    ASSERT_TRUE(set_mode(at(name), mode).ok());
  }
  std::vector<std::string> names(const std::string& folder) {
    return bundle_names(at(folder)).value_or({"(error)"});
  }
  TemporaryDirectory dir_ = std::move(TemporaryDirectory::make("hearth-bundle").value());
};

TEST_F(Bundles, TakesWhatTheIgnoreFilesLeave) {
  put("d/.gitignore", "*.pyc\n/data\n!keep.pyc\n");
  put("d/.hearthignore", "notes.txt\n!data\n");
  put("d/.git/config", "x");
  put("d/a.py", "x");
  put("d/a.pyc", "x");
  put("d/keep.pyc", "x");
  put("d/notes.txt", "x");
  put("d/data/set", "x");
  put("d/sub/.gitignore", "*.py\n");
  put("d/sub/b.py", "x");
  put("d/sub/c.txt", "x");
  put("d/sub/.git", "gitdir: elsewhere");
  EXPECT_EQ(names("d"),
            (std::vector<std::string>{".gitignore", ".hearthignore", "a.py", "data/", "data/set",
                                      "keep.pyc", "sub/", "sub/.gitignore", "sub/c.txt"}));
}

TEST_F(Bundles, TheSameFilesGiveTheSameBytes) {
  put("one/b", "2");
  put("one/a/x", "1", 0755);
  put("two/a/x", "1", 0700);
  put("two/b", "2", 0600);
  ASSERT_TRUE(make_symlink("a/x", at("one/l")).ok());
  ASSERT_TRUE(make_symlink("a/x", at("two/l")).ok());
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, at("two/b").c_str(), old, 0), 0);
  const auto first = bundle_directory(at("one"), at("1.tar.zst"));
  const auto second = bundle_directory(at("two"), at("2.tar.zst"));
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first->digest, second->digest);
  const std::string bytes = read_file(at("1.tar.zst"), 1 << 20).value();
  EXPECT_EQ(bytes, *read_file(at("2.tar.zst"), 1 << 20));
  EXPECT_EQ(first->digest, sha256(bytes));
  EXPECT_EQ(first->packed_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(first->files, 4);
  EXPECT_EQ(first->content_bytes, 2);
  ASSERT_TRUE(set_mode(at("two/b"), 0700).ok());
  EXPECT_NE(bundle_directory(at("two"), at("3.tar.zst"))->digest, first->digest);
}

TEST_F(Bundles, ComesBackAsItWas) {
  const std::string long_name(120, 'n');
  put("d/run.sh", "#!/bin/sh\n", 0755);
  put("d/" + long_name + "/" + long_name + "/" + long_name, "deep");
  put("d/gr\xC3\xBC\xC3\x9F"
      "e.txt",
      "utf-8");
  put("d/odd\xFF\n\\name", "bytes");
  put("d/empty", "");
  put("d/big", std::string(3'000'000, 'z'));
  ASSERT_TRUE(make_directories(at("d/folder")).ok());
  ASSERT_TRUE(make_symlink("../run.sh", at("d/folder/link")).ok());
  ASSERT_TRUE(make_symlink(long_name + "/" + long_name + "/" + long_name, at("d/far")).ok());
  const auto packed = bundle_directory(at("d"), at("x"));
  ASSERT_TRUE(packed.ok()) << packed.error().text();
  EXPECT_EQ(status(at("x"))->st_mode & 0777, 0600u);
  const auto unpacked = extract_bundle(at("x"), at("out"));
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().text();
  EXPECT_EQ(unpacked->digest, packed->digest);
  EXPECT_EQ(unpacked->files, packed->files);
  EXPECT_EQ(unpacked->content_bytes, packed->content_bytes);
  EXPECT_EQ(names("out"), names("d"));
  EXPECT_EQ(status(at("out/run.sh"))->st_mode & 0777, 0755u);
  EXPECT_EQ(status(at("out/empty"))->st_mode & 0777, 0644u);
  EXPECT_EQ(*read_file(at("out/odd\xFF\n\\name"), 100), "bytes");
  EXPECT_EQ(*read_file(at("out/folder/link"), 100), "#!/bin/sh\n");
  EXPECT_EQ(*read_file(at("out/far"), 100), "deep");
  EXPECT_EQ(bundle_directory(at("out"), at("y"))->digest, packed->digest);
}

TEST_F(Bundles, LinksThatLeadOutAndOddThingsAreLeftOut) {
  put("d/a", "x");
  ASSERT_TRUE(make_symlink("/etc/passwd", at("d/absolute")).ok());
  ASSERT_TRUE(make_symlink("../secret", at("d/out")).ok());
  ASSERT_TRUE(make_symlink("a", at("d/fine")).ok());
  ASSERT_EQ(mkfifo(at("d/pipe").c_str(), 0600), 0);
  EXPECT_EQ(names("d"), (std::vector<std::string>{"a", "fine"}));
  EXPECT_EQ(bundle_directory(at("d"), at("x"))->left_out_links,
            (std::vector<std::string>{"absolute", "out"}));
}

TEST_F(Bundles, BoundsAreKeptAndNameTheLargestFolder) {
  for (int i = 0; i < 20; ++i) put(format("d/many/{}", i), "12345");
  put("d/one", "x");
  const auto files = bundle_directory(at("d"), at("x"), {.files = 10});
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, Code::too_large);
  EXPECT_NE(files.error().mend.find("many/"), std::string::npos);
  const auto bytes = bundle_directory(at("d"), at("x"), {.bytes = 50});
  EXPECT_EQ(bytes.error().code, Code::too_large);
  EXPECT_NE(bytes.error().mend.find("many/"), std::string::npos);
  EXPECT_FALSE(exists(at("x")));
  ASSERT_TRUE(bundle_directory(at("d"), at("x")).ok());
  EXPECT_EQ(bundle_directory(at("d"), at("x")).error().code, Code::exists);
  EXPECT_EQ(extract_bundle(at("x"), at("o1"), {.files = 10}).error().code, Code::too_large);
  EXPECT_EQ(extract_bundle(at("x"), at("o2"), {.bytes = 50}).error().code, Code::too_large);
  EXPECT_EQ(bundle_directory(at("none"), at("y")).error().code, Code::not_found);
}

TEST_F(Bundles, WhatIsTakenIsCountedBeforeItIsPacked) {
  put("d/many/a", "12345");
  put("d/many/b", "123");
  put("d/large/c", "1234567890");
  put("d/one", "x");
  put("d/left", "12345");
  put("d/.hearthignore", "left\n");
  BundleContents counted;
  bool first = false;
  const auto packed = bundle_directory(at("d"), at("x"), {}, [&](const BundleContents& contents) {
    counted = contents;
    first = !exists(at("x"));
  });
  ASSERT_TRUE(packed.ok());
  EXPECT_TRUE(first);
  EXPECT_EQ(counted.all.files, packed->files);
  EXPECT_EQ(counted.all.bytes, packed->content_bytes);
  EXPECT_EQ(counted.largest(&BundleContents::Part::files)->first, "many");
  EXPECT_EQ(counted.largest(&BundleContents::Part::files)->second.bytes, 8);
  EXPECT_EQ(counted.largest(&BundleContents::Part::bytes)->first, "large");
  EXPECT_EQ(BundleContents().largest(&BundleContents::Part::bytes), nullptr);
}

// Archives that nobody honest makes.
class Malicious : public Bundles {
 protected:
  struct Item {
    std::string name;
    int type = AE_IFREG;
    std::string text;  // content, or the target of a link
    bool hard_link = false;
  };
  Result<BundleInfo> extract(const std::vector<Item>& items) {
    ignore(remove_tree(at("evil")));
    ignore(remove_tree(at("root")));
    archive* const out = archive_write_new();
    archive_write_set_format_gnutar(out);
    archive_write_open_filename(out, at("evil").c_str());
    for (const Item& item : items) {
      archive_entry* const entry = archive_entry_new();
      archive_entry_set_pathname(entry, item.name.c_str());
      if (item.hard_link) {
        archive_entry_set_hardlink(entry, item.text.c_str());
      } else {
        archive_entry_set_filetype(entry, static_cast<unsigned>(item.type));
      }
      archive_entry_set_perm(entry, 0644);
      if (item.type == AE_IFLNK) archive_entry_set_symlink(entry, item.text.c_str());
      const bool file = item.type == AE_IFREG && !item.hard_link;
      if (file) archive_entry_set_size(entry, static_cast<int64_t>(item.text.size()));
      archive_write_header(out, entry);
      if (file) archive_write_data(out, item.text.data(), item.text.size());
      archive_entry_free(entry);
    }
    archive_write_close(out);
    archive_write_free(out);
    return extract_bundle(at("evil"), at("root/in"));
  }
  void refused(const std::vector<Item>& items) {
    const auto done = extract(items);
    ASSERT_FALSE(done.ok()) << items[0].name;
    EXPECT_EQ(done.error().code, Code::invalid) << done.error().text();
    EXPECT_EQ(list_directory(at("root"))->size(), 1u) << items[0].name;
  }
};

TEST_F(Malicious, PathsThatLeadOutAreRefused) {
  EXPECT_TRUE(extract({{"fine", AE_IFREG, "x"}}).ok());
  refused({{"../x", AE_IFREG, "x"}});
  refused({{"a/../../x", AE_IFREG, "x"}});
  refused({{at("root/x"), AE_IFREG, "x"}});
  refused({{"../folder", AE_IFDIR, ""}});
}

TEST_F(Malicious, LinksThatLeadOutAreRefused) {
  refused({{"l", AE_IFLNK, ".."}});
  refused({{"l", AE_IFLNK, "/etc"}});
  refused({{"a/l", AE_IFLNK, "../../x"}});
  refused({{"a/up", AE_IFLNK, ".."}, {"l", AE_IFLNK, "a/up/../x"}});
  refused({{"l", AE_IFLNK, "a"}, {"l/x", AE_IFREG, "x"}});
  refused({{"d", AE_IFDIR, ""}, {"l", AE_IFLNK, "d"}, {"l/x", AE_IFDIR, ""}});
  refused({{"l", AE_IFLNK, "target"}, {"l", AE_IFREG, "x"}});
}

TEST_F(Malicious, DevicesPipesHardLinksAndTwinsAreRefused) {
  refused({{"pipe", AE_IFIFO, ""}});
  refused({{"device", AE_IFCHR, ""}});
  refused({{"a", AE_IFREG, "x"}, {"b", AE_IFREG, "a", true}});
  refused({{"b", AE_IFREG, "/etc/passwd", true}});
  refused({{"a", AE_IFREG, "x"}, {"a", AE_IFREG, "y"}});
}

TEST_F(Malicious, WhatIsNoArchiveIsRefused) {
  put("text", "this is no archive at all");
  EXPECT_EQ(extract_bundle(at("text"), at("o")).error().code, Code::invalid);
  EXPECT_EQ(extract_bundle(at("none"), at("o")).error().code, Code::not_found);
}

TEST_F(Malicious, DamageIsFoundAndNothingEscapes) {
  for (int i = 0; i < 20; ++i) put(format("d/{}/file", i), std::string(200, static_cast<char>(i)));
  ASSERT_TRUE(make_symlink("0/file", at("d/link")).ok());
  const BundleInfo info = bundle_directory(at("d"), at("x")).value();
  const std::string good = read_file(at("x"), 1 << 20).value();
  SeededRandom random(7);
  int refused = 0;
  for (int i = 0; i < 75; ++i) {
    std::string bad = good;
    for (uint64_t n = 1 + random.below(3); n > 0; --n)
      bad[random.below(bad.size())] ^= static_cast<char>(1 + random.below(255));
    if (i % 3 == 0) bad.resize(random.below(bad.size()));
    ASSERT_TRUE(write_file_atomic(at("bad"), bad, 0600, Sync::no).ok());
    const auto done = extract_bundle(at("bad"), at("root/in"), {.files = 100, .bytes = 1 << 20});
    if (!done.ok()) ++refused;
    if (done.ok()) EXPECT_NE(done->digest, info.digest);
    EXPECT_EQ(list_directory(at("root"))->size(), 1u);
    ASSERT_TRUE(remove_tree(at("root")).ok());
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace hearth::os
