// The memory of one fake GPU: a range of addresses that the host can reach only while the device
// works. Used by the fake driver. Invariants: between two Open()s every access from the host
// faults; what was never written reads as 0xff (a NaN in every float type) and what was freed as
// 0xdf; bytes around each block are checked after every kernel and when the block is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace fake {

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);

  size_t total() const { return total_; }
  size_t used() const { return used_; }
  size_t blocks() const { return blocks_.size(); }

  // 0 if there is not enough.
  uint64_t Allocate(size_t bytes);
  // False if no block starts at `address`.
  bool Free(uint64_t address);
  // Whether [address, address + bytes) lies in one block.
  bool Contains(uint64_t address, size_t bytes) const;
  // Whether the address is of this device, in a block or not.
  bool Owns(uint64_t address) const { return address - base_ < span_; }

  // Nest.
  void Open();
  void Close();

  // While open: what was written outside of blocks since the last time, "" if nothing was.
  std::string CheckZones();

 private:
  struct Block {
    size_t bytes;
  };
  struct Hole {
    size_t bytes;
    bool filled;  // all of it, not only the ends of what was there
  };
  static size_t Rounded(size_t bytes);
  void Protect(bool open);
  std::string CheckBlock(uint64_t address, const Block& block);
  std::string CheckFill(uint64_t address, size_t bytes, unsigned char fill, const char* what);

  const size_t total_, span_;
  uint64_t base_ = 0, top_ = 0;  // of the addresses handed out so far
  size_t used_ = 0;
  int open_ = 0;
  std::string damage_;  // found by Allocate() and Free(), not said yet
  std::map<uint64_t, Block> blocks_;
  std::map<uint64_t, Hole> holes_;  // between them, with their zones
};

// Opens both for as long as it lives; either may be null.
class OpenMemory {
 public:
  explicit OpenMemory(DeviceMemory* a, DeviceMemory* b = nullptr) : a_(a), b_(b) {
    if (a_) a_->Open();
    if (b_) b_->Open();
  }
  ~OpenMemory() {
    if (b_) b_->Close();
    if (a_) a_->Close();
  }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  DeviceMemory* const a_;
  DeviceMemory* const b_;
};

}  // namespace fake
