// The files of compiled kernels: what is stored is found, and nothing else ever is.
#include "jit/cuda/image_cache.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tests/cuda/on_fakes.h"

namespace frazil::cuda {
namespace {

namespace fs = std::filesystem;

class ImageCache : public OnFakes {
 protected:
  // The one file of the folder.
  fs::path File() {
    for (const auto& entry : fs::directory_iterator(CacheFolder())) return entry.path();
    return {};
  }
  void SetUp() override {
    OnFakes::SetUp();
    for (const auto& entry : fs::directory_iterator(CacheFolder())) fs::remove(entry.path());
  }
};

TEST_F(ImageCache, FindsWhatWasStored) {
  const std::string image("a\0b", 3);
  EXPECT_FALSE(LoadImage("key"));
  StoreImage("key", image);
  EXPECT_EQ(LoadImage("key"), image);
  EXPECT_FALSE(LoadImage("another key"));
  StoreImage("key", "newer");
  EXPECT_EQ(LoadImage("key"), "newer");
}

TEST_F(ImageCache, EveryFlippedBitIsSeen) {
  StoreImage("the key", "the image");
  const fs::path path = File();
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= char(1 << bit % 8);
    std::ofstream(path, std::ios::binary) << bad;
    bool rejected = false;
    EXPECT_FALSE(LoadImage("the key", &rejected)) << "bit " << bit;
    EXPECT_TRUE(rejected);
  }
  for (size_t length = 0; length < good.size(); ++length) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(LoadImage("the key")) << length << " bytes";
  }
  std::ofstream(path, std::ios::binary) << good + "x";
  EXPECT_FALSE(LoadImage("the key"));
  std::ofstream(path, std::ios::binary) << good;
  EXPECT_EQ(LoadImage("the key"), "the image");
}

// Another key's file under this key's name: hashes may collide, keys do not.
TEST_F(ImageCache, TheKeyDecides) {
  StoreImage("one", "image of one");
  const fs::path one = File();
  fs::rename(one, fs::path(one).replace_extension(".kept"));
  StoreImage("two", "image of two");
  fs::path two;
  for (const auto& entry : fs::directory_iterator(CacheFolder()))
    if (entry.path().extension() == ".cubin") two = entry.path();
  fs::rename(two, one);
  EXPECT_FALSE(LoadImage("one"));
}

TEST_F(ImageCache, WhatOthersMayWriteIsNotUsed) {
  StoreImage("key", "image");
  fs::permissions(File(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(LoadImage("key"));
  fs::permissions(File(), fs::perms::group_write, fs::perm_options::remove);
  EXPECT_TRUE(LoadImage("key"));
  fs::permissions(CacheFolder(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(LoadImage("key"));
  fs::permissions(CacheFolder(), fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(LoadImage("key"));
}

TEST_F(ImageCache, LinksAreNotFollowed) {
  StoreImage("key", "image");
  const fs::path path = File(), aside = CacheFolder() + "/aside";
  fs::rename(path, aside);
  fs::create_symlink(aside, path);
  EXPECT_FALSE(LoadImage("key"));
}

}  // namespace
}  // namespace frazil::cuda
