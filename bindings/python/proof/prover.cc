#include "bindings/python/proof/prover.h"

#include <algorithm>
#include <utility>

#include "core/str.h"

namespace frazil::python {

bool Prover::Doubt(const std::string& why, const std::string& function) {
  doubt_ = why;
  Pause();
  if (!strict_) return true;
  PyErr_Format(PyExc_RuntimeError,
               "[trace] the body of %s cannot be skipped, which strict=True asks for: %s.",
               function.c_str(), why.c_str());
  return false;
}

bool Prover::Compare() {
  const int64_t before = world.changes();
  if (world.Compare()) return true;
  if (world.changes() != before) ForgetNumbers();
  return false;
}

bool Prover::Guard(Nest* nest) {
  const int64_t before = world.changes();
  if (!world.Guard(nest)) {
    if (world.changes() != before) ForgetNumbers();
    return false;
  }
  return !nest->RefuseForeign() && (numbers.empty() || numbers.Compute(nest));
}

void Prover::Observed() {
  constexpr int64_t kMany = 48;
  if (++observed_ < kMany) return;
  if (skipped_ - skipped_before_ < kMany) Pause();
  observed_ = 0;
  skipped_before_ = skipped_;
}

// Their places are those of a nest that is no more.
void Prover::ForgetNumbers() {
  numbers.Clear();
  moves_.clear();
  last_words_.clear();
}

void Prover::Clear() {
  world.Clear();
  ForgetNumbers();
  unread_.clear();
  read_.clear();
  const auto kept = std::move(kept_);  // letting go may run code
  kept_.clear();
  last_lists_.clear();
}

bool Prover::FindGrowing(const Nest& nest) {
  bool found = false;
  constexpr size_t kMost = 16;  // that are kept alive
  std::vector<std::pair<const PyObject*, Py_ssize_t>> lists;
  for (PyObject* o : nest.containers) {
    if (!PyList_CheckExact(o) || unread_.contains(o) || read_.contains(o)) continue;
    const auto last = std::find_if(last_lists_.begin(), last_lists_.end(),
                                   [&](const auto& row) { return row.first == o; });
    if (last != last_lists_.end() && last->second < PyList_GET_SIZE(o) && kept_.size() < kMost) {
      unread_.insert(o);
      kept_.push_back(Object::Share(o));
      found = true;
    } else {
      lists.emplace_back(o, PyList_GET_SIZE(o));
    }
  }
  last_lists_.swap(lists);
  if (found) ++lists_changes_;
  return found;
}

void Prover::IsRead(PyObject* list) {
  if (unread_.erase(list) == 0) return;
  read_.insert(list);
  ++lists_changes_;
}

int Prover::Traverse(visitproc visit, void* arg) const {
  for (const Object& o : kept_) Py_VISIT(o.get());
  return world.Traverse(visit, arg);
}

bool Prover::FindMoving(const Nest& nest, size_t structure) {
  const absl::Span<const uint64_t> words = nest.words.span().first(structure);
  const std::vector<uint64_t> last = std::exchange(last_words_, {words.begin(), words.end()});
  if (last.size() != words.size()) return false;
  std::vector<bool> moves = moves_;
  moves.resize(std::max(moves.size(), nest.values.size()));
  size_t different = 0, moving = 0;
  for (size_t i = 0; i < words.size(); ++i) different += words[i] != last[i];
  for (size_t place = 0; place < nest.values.size(); ++place) {
    const uint32_t at = nest.values[place];
    if (at == 0 || at >= words.size() || words[at] == last[at]) continue;
    moves[place] = true;
    ++moving;
  }
  if (moving == 0 || moving != different) return false;
  moves_ = std::move(moves);
  last_words_.clear();
  return true;
}

std::string Prover::Describe() const {
  std::string out;
  if (since_ > 0) {
    StrAppend(&out, "  skipped by proof since call ", since_,
              "; what is compared besides arguments:\n");
    const std::string world = StrCat(this->world.Describe(), numbers.Describe());
    for (size_t at = 0; at < world.size();) {
      const size_t end = world.find('\n', at);
      StrAppend(&out, "    ", world.substr(at, end - at), "\n");
      at = end + 1;
    }
  } else if (!doubt_.empty()) {
    StrAppend(&out, "  not proved, so the body runs: ", doubt_, "\n");
  } else if (const std::string numbers = this->numbers.Describe(); !numbers.empty()) {
    StrAppend(&out, "  not skipped, as its calls differ in numbers whose values are asked for:\n",
              numbers);
  }
  return out;
}

}  // namespace frazil::python
