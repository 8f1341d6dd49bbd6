// Compiled images on disk, one file each, in the user's own folder. Called by the compiler.
// Invariants: an image is returned only for the very key it was stored under, whole, from a file
// and a folder that nobody else can write; storing never leaves half a file under its name, and
// failing to store is no error.
#pragma once

#include <optional>
#include <string>

namespace frazil::cuda {

// key: all that an image depends on. Empty: there is none that may be used; `rejected` (may be
// null) says that a file was there and was not right.
std::optional<std::string> LoadImage(const std::string& key, bool* rejected = nullptr);
void StoreImage(const std::string& key, const std::string& image);

}  // namespace frazil::cuda
