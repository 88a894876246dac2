// What every Objects does alike: one suite, instantiated beside each implementation.
//
//   INSTANTIATE_TEST_SUITE_P(Directory, ObjectsContract, ::testing::Values(ObjectsFactory{...}));
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "objects/objects.h"
#include "os/files.h"

namespace hearth::objects {

// An empty store; opened again with the same `id` it is the same one.
struct ObjectsFactory {
  std::string name;
  std::function<std::string()> fresh;  // a new id
  std::function<Result<std::unique_ptr<Objects>>(const std::string& id)> open;
  std::function<void(const std::string& id)> destroy;
};

class ObjectsContract : public ::testing::TestWithParam<ObjectsFactory> {
 protected:
  void SetUp() override {
    id_ = GetParam().fresh();
    open();
  }
  void TearDown() override {
    objects_.reset();
    GetParam().destroy(id_);
  }
  void open() {
    objects_.reset();
    auto opened = GetParam().open(id_);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    objects_ = std::move(opened).value();
  }
  std::string file_of(std::string_view bytes) {
    const std::string path = files_ / std::to_string(next_file_++);
    EXPECT_TRUE(os::append_file(path, bytes, os::Sync::no).ok());
    return path;
  }
  static std::string bytes_of(size_t size, uint64_t seed = 1) {
    std::string bytes(size, '\0');
    SeededRandom(seed).fill(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  std::string put(std::string_view bytes) {
    const auto stored = objects_->put(bytes);
    EXPECT_TRUE(stored.ok()) << stored.error().text();
    EXPECT_EQ(stored->digest, sha256(bytes));
    EXPECT_EQ(stored->size_bytes, static_cast<int64_t>(bytes.size()));
    return stored->digest;
  }
  template <typename T>
  static Code code(const Result<T>& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code;
  }
  std::vector<std::string> listed() {
    std::vector<std::string> all;
    EXPECT_TRUE(objects_
                    ->list([&](const Stored& stored) -> Result<void> {
                      all.push_back(stored.digest);
                      return {};
                    })
                    .ok());
    std::ranges::sort(all);
    return all;
  }
  std::unique_ptr<Objects> objects_;

 private:
  std::string id_;
  os::TemporaryDirectory files_ = std::move(os::TemporaryDirectory::make()).value();
  int next_file_ = 0;
};

TEST_P(ObjectsContract, GivesBackWhatWasPut) {
  for (const size_t size : {0u, 1u, 1000u, 1u << 20, (1u << 20) + 1, 3'500'000u}) {
    const std::string bytes = bytes_of(size, size + 1);
    const std::string digest = put(bytes);
    EXPECT_EQ(*objects_->have(digest), static_cast<int64_t>(size));
    const auto back = objects_->get(digest, 0, -1);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_TRUE(*back == bytes) << size;
    const auto path = objects_->local_path(digest);
    ASSERT_TRUE(path.ok());
    EXPECT_TRUE(*os::read_file(*path, 1 << 30) == bytes);
  }
  open();
  EXPECT_EQ(listed().size(), 6u);
}

TEST_P(ObjectsContract, Ranges) {
  const std::string bytes = bytes_of(3'500'000);
  const std::string digest = put(bytes);
  SeededRandom random(2);
  for (int i = 0; i < 50; ++i) {
    const size_t offset = random.below(bytes.size() + 1);
    const size_t length = random.below(i % 2 == 0 ? 100 : 2'000'000);
    const auto part =
        objects_->get(digest, static_cast<int64_t>(offset), static_cast<int64_t>(length));
    ASSERT_TRUE(part.ok());
    ASSERT_TRUE(*part == bytes.substr(offset, length)) << offset << " " << length;
  }
  EXPECT_TRUE(*objects_->get(digest, 3'499'999, -1) == bytes.substr(3'499'999));
  EXPECT_EQ(*objects_->get(digest, 3'500'000, 10), "");
  EXPECT_EQ(code(objects_->get(digest, 3'500'001, 1)), Code::invalid);
  EXPECT_EQ(code(objects_->get(digest, -1, 1)), Code::invalid);
}

TEST_P(ObjectsContract, WhatIsNotThere) {
  const std::string digest = sha256("nothing");
  EXPECT_FALSE(objects_->have(digest)->has_value());
  EXPECT_EQ(code(objects_->get(digest, 0, -1)), Code::not_found);
  EXPECT_EQ(code(objects_->local_path(digest)), Code::not_found);
  EXPECT_TRUE(objects_->remove(digest).ok());
  for (const char* wrong : {"", "sha256:", "sha256:../../etc/passwd", "../x", "sha256:AB"}) {
    EXPECT_EQ(code(objects_->have(wrong)), Code::invalid) << wrong;
    EXPECT_EQ(code(objects_->get(wrong, 0, -1)), Code::invalid);
    EXPECT_EQ(code(objects_->local_path(wrong)), Code::invalid);
    EXPECT_EQ(code(objects_->remove(wrong)), Code::invalid);
    EXPECT_EQ(code(objects_->begin_upload(wrong, 1)), Code::invalid);
  }
}

TEST_P(ObjectsContract, FilesAreCopiedOrMoved) {
  const std::string bytes = bytes_of(1'200'000);
  const std::string path = file_of(bytes);
  ASSERT_TRUE(objects_->put_file(path, sha256(bytes), false).ok());
  // Later changes of the file do not reach the object.
  ASSERT_TRUE(os::append_file(path, "more", os::Sync::no).ok());
  EXPECT_TRUE(*objects_->get(sha256(bytes), 0, -1) == bytes);
  ASSERT_TRUE(objects_->put_file(path, "", true).ok());
  EXPECT_FALSE(os::exists(path));
  EXPECT_TRUE(*objects_->get(sha256(bytes + "more"), 0, -1) == bytes + "more");
}

TEST_P(ObjectsContract, FilesWithAnotherDigestAreRefused) {
  const std::string path = file_of("some bytes");
  for (const bool move : {false, true}) {
    EXPECT_EQ(code(objects_->put_file(path, sha256("others"), move)), Code::invalid);
    EXPECT_EQ(*os::read_file(path, 100), "some bytes");
  }
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(code(objects_->put_file(path + ".none", "", false)), Code::not_found);
}

TEST_P(ObjectsContract, ListAndRemove) {
  std::vector<std::string> digests;
  for (int i = 0; i < 20; ++i) digests.push_back(put(std::to_string(i)));
  put("7");  // twice is once
  std::ranges::sort(digests);
  EXPECT_EQ(listed(), digests);
  ASSERT_TRUE(objects_->remove(digests[3]).ok());
  EXPECT_FALSE(objects_->have(digests[3])->has_value());
  digests.erase(digests.begin() + 3);
  EXPECT_EQ(listed(), digests);
  int seen = 0;
  const auto stopped = objects_->list([&](const Stored&) -> Result<void> {
    return ++seen == 2 ? Result<void>(Error::conflict("enough")) : Result<void>();
  });
  EXPECT_EQ(code(stopped), Code::conflict);
  EXPECT_EQ(seen, 2);
}

TEST_P(ObjectsContract, UploadsGoOnAfterARestart) {
  const std::string bytes = bytes_of(2'500'000);
  const auto upload = objects_->begin_upload(sha256(bytes), 2'500'000);
  ASSERT_TRUE(upload.ok()) << upload.error().text();
  EXPECT_EQ(upload->received_bytes, 0);
  int64_t at = 0;
  for (const int64_t part : {1'000'000, 1, 999'999}) {
    const std::string path =
        file_of(bytes.substr(static_cast<size_t>(at), static_cast<size_t>(part)));
    EXPECT_EQ(code(objects_->append(upload->id, at + 1, path)), Code::conflict);
    const auto answer = objects_->append(upload->id, at, path);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    at += part;
    EXPECT_EQ(answer->received_bytes, at);
    // The answer was lost, the client sends it again.
    EXPECT_EQ(code(objects_->append(upload->id, at - part, path)), Code::conflict);
    open();
    EXPECT_EQ(objects_->upload_state(upload->id)->received_bytes, at);
  }
  EXPECT_EQ(code(objects_->finish_upload(upload->id)), Code::conflict);
  EXPECT_FALSE(objects_->have(sha256(bytes))->has_value());
  EXPECT_EQ(code(objects_->append(upload->id, at, file_of(bytes))), Code::too_large);
  EXPECT_EQ(objects_->upload_state(upload->id)->received_bytes, at);
  ASSERT_TRUE(objects_->append(upload->id, at, file_of(bytes.substr(2'000'000))).ok());
  const auto stored = objects_->finish_upload(upload->id);
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  EXPECT_EQ(stored->digest, sha256(bytes));
  EXPECT_EQ(stored->size_bytes, 2'500'000);
  EXPECT_TRUE(*objects_->get(sha256(bytes), 0, -1) == bytes);
  EXPECT_EQ(code(objects_->upload_state(upload->id)), Code::not_found);
}

TEST_P(ObjectsContract, UploadsOfOtherBytesAreRefused) {
  const auto upload = objects_->begin_upload(sha256("abc"), 3);
  ASSERT_TRUE(objects_->append(upload->id, 0, file_of("abd")).ok());
  EXPECT_EQ(code(objects_->finish_upload(upload->id)), Code::invalid);
  EXPECT_EQ(code(objects_->upload_state(upload->id)), Code::not_found);
  EXPECT_TRUE(listed().empty());
  const auto empty = objects_->begin_upload(sha256(""), 0);
  ASSERT_TRUE(objects_->finish_upload(empty->id).ok());
  EXPECT_EQ(listed(), std::vector<std::string>{sha256("")});
  EXPECT_EQ(code(objects_->begin_upload(sha256(""), -1)), Code::invalid);
  for (const char* wrong : {"", "..", "../../x", "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
    EXPECT_EQ(code(objects_->upload_state(wrong)), Code::not_found) << wrong;
}

TEST_P(ObjectsContract, ManyThreadsPutTheSameObject) {
  const std::string bytes = bytes_of(1'500'000);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i) {
          const bool put = objects_->put(bytes).ok() && objects_->put(std::to_string(i)).ok();
          const auto back = objects_->get(sha256(bytes), 1'000'000 + t, 100);
          good +=
              put && back.ok() && *back == bytes.substr(1'000'000 + static_cast<size_t>(t), 100);
        }
      });
  }
  EXPECT_EQ(good, 20);
  EXPECT_EQ(listed().size(), 6u);
}

}  // namespace hearth::objects
