#include <algorithm>
#include <cctype>
#include <map>

#include "absl/strings/numbers.h"
#include "core/str.h"
#include "jit/graph/graph.h"

namespace frazil::jit {
namespace {

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '-' ||
         c == '.';
}

// The op's number by name, or -1.
int FindOp(std::string_view name) {
  for (int i = 0; i < kNumOps; ++i) {
    if (Info(static_cast<OpId>(i)).name == name) return i;
  }
  return -1;
}

Role FindRole(std::string_view name) {
  for (const Role role : {Role::kLoop, Role::kEnd, Role::kEvery}) {
    Node node;
    node.role = role;
    if (NameOf(node) == name) return role;
  }
  return Role::kOp;
}

// A cursor over the text: words and single punctuation characters; line ends count as space.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  StatusOr<Graph> Run() {
    FZ_RETURN_IF_ERROR(ParseGraph());
    if (!Peek().empty()) return Fail("'", Peek(), "' follows the graph");
    FZ_RETURN_IF_ERROR(Verify(graph_));
    return std::move(graph_);
  }

 private:
  Status ParseGraph() {
    FZ_RETURN_IF_ERROR(Header());
    while (Peek() != "return") FZ_RETURN_IF_ERROR(Op());
    Take();
    while (Peek() != "}") {
      FZ_ASSIGN_OR_RETURN(const int32_t id, TakeId());
      graph_.outputs.push_back(id);
      if (!TakeIf(",")) break;
    }
    return Expect("}");
  }

  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[graph] line ", line_, ": ", args..., ".");
  }

  // Skips spaces and comments.
  void SkipSpace(size_t* at, int* line) const {
    while (*at < text_.size()) {
      const char c = text_[*at];
      if (c == '#') {
        *at = std::min(text_.find('\n', *at), text_.size());
      } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
        *line += c == '\n';
        ++*at;
      } else {
        return;
      }
    }
  }
  std::string_view Word(size_t at) const {
    size_t end = at;
    while (end < text_.size() && IsWord(text_[end])) ++end;
    return text_.substr(at, end > at ? end - at : (at < text_.size() ? 1 : 0));
  }
  std::string_view Peek() const {
    size_t at = at_;
    int line = line_;
    SkipSpace(&at, &line);
    return Word(at);
  }
  std::string_view Take() {
    SkipSpace(&at_, &line_);
    const std::string_view word = Word(at_);
    at_ += word.size();
    return word;
  }
  bool TakeIf(std::string_view word) {
    if (Peek() != word) return false;
    Take();
    return true;
  }
  Status Expect(std::string_view word) {
    const std::string_view have = Take();
    if (have == word) return absl::OkStatus();
    if (have.empty()) return Fail("'", word, "' is missing at the end");
    return Fail("'", word, "' is needed, not '", have, "'");
  }
  StatusOr<int64_t> TakeInt() {
    const std::string_view word = Take();
    int64_t value;
    if (absl::SimpleAtoi(AbslView(word), &value)) return value;
    return Fail("'", word, "' is no integer");
  }
  // Integers between `open` and `close`.
  StatusOr<Attrs> TakeList(std::string_view open, std::string_view close) {
    FZ_RETURN_IF_ERROR(Expect(open));
    Attrs list;
    while (!TakeIf(close)) {
      if (!list.empty()) FZ_RETURN_IF_ERROR(Expect(","));
      FZ_ASSIGN_OR_RETURN(const int64_t value, TakeInt());
      list.push_back(value);
    }
    return list;
  }
  StatusOr<int32_t> TakeId() {
    const std::string_view name = Take();
    const auto it = ids_.find(name);
    if (it == ids_.end()) return Fail("'", name, "' names no earlier value");
    return it->second;
  }
  Status Name(std::string_view name, int32_t id) {
    if (name.size() < 2 || name[0] != '%') return Fail("'", name, "' is no value name");
    if (!ids_.emplace(name, id).second) return Fail("'", name, "' is defined twice");
    return absl::OkStatus();
  }

  // dtype and device; dims and strides unless it is a scalar.
  Status Type(Node* node, bool scalar) {
    const std::string_view name = Take();
    const auto dtype = ParseDType(name);
    if (!dtype) return Fail("'", name, "' is no dtype");
    node->dtype = *dtype;
    Attrs dims;
    if (!scalar) {
      FZ_ASSIGN_OR_RETURN(dims, TakeList("[", "]"));
    }
    FZ_RETURN_IF_ERROR(CheckDims("graph", dims, SizeOf(*dtype)));
    if (TakeIf("@")) {
      std::string device(Take());
      if (TakeIf(":")) StrAppend(&device, ":", Take());
      FZ_ASSIGN_OR_RETURN(node->device, ParseDevice(device));
    }
    node->layout = Dense(dims);
    if (!scalar && TakeIf("strides")) {
      FZ_ASSIGN_OR_RETURN(const Attrs strides, TakeList("[", "]"));
      if (strides.size() != dims.size()) {
        return Fail(strides.size(), " strides for ", dims.size(), " axes");
      }
      node->layout = Intern(dims, strides);
    }
    return absl::OkStatus();
  }

  Status Header() {
    FZ_RETURN_IF_ERROR(Expect("graph"));
    FZ_RETURN_IF_ERROR(Expect("("));
    while (!TakeIf(")")) {
      if (graph_.num_inputs > 0) FZ_RETURN_IF_ERROR(Expect(","));
      Node type;
      const bool scalar = TakeIf("scalar");
      FZ_RETURN_IF_ERROR(Type(&type, scalar));
      const int32_t id = graph_.AddInput(type.dtype, type.device, type.layout, scalar);
      ids_.emplace(StrCat("%", id), id);
    }
    return Expect("{");
  }

  // %name = op %a, %b {attrs} : [view] type [strides [..]] [offset n]  [# origin]
  Status Op() {
    const std::string_view name = Take();
    if (name.empty()) return Fail("'return' is missing at the end");
    FZ_RETURN_IF_ERROR(Name(name, static_cast<int32_t>(graph_.nodes.size())));
    FZ_RETURN_IF_ERROR(Expect("="));
    const std::string_view op = Take();
    Node node;
    node.role = FindRole(op);
    if (node.role == Role::kOp) {
      const int number = FindOp(op);
      if (number < 0) return Fail("'", op, "' is no op");
      node.op = static_cast<OpId>(number);
    }
    while (Peek() != "{" && Peek() != ":") {
      if (!node.operands.empty()) FZ_RETURN_IF_ERROR(Expect(","));
      FZ_ASSIGN_OR_RETURN(const int32_t id, TakeId());
      if (id >= static_cast<int32_t>(graph_.nodes.size())) return Fail("'", name, "' uses itself");
      node.operands.push_back(id);
    }
    if (Peek() == "{") {
      FZ_ASSIGN_OR_RETURN(node.attrs, TakeList("{", "}"));
    }
    FZ_RETURN_IF_ERROR(Expect(":"));
    node.view = TakeIf("view");
    FZ_RETURN_IF_ERROR(Type(&node, false));
    if (TakeIf("offset")) {
      FZ_ASSIGN_OR_RETURN(node.offset, TakeInt());
    }
    if (node.role == Role::kLoop) FZ_RETURN_IF_ERROR(TakeLoop(&node));
    node.origin = TakeOrigin();
    graph_.nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  // times n (a source for each input of the body) graph ...
  Status TakeLoop(Node* node) {
    if (depth_ == kMaxDepth)
      return Fail("loops stand in each other more than ", kMaxDepth, " deep");
    Loop loop;
    FZ_RETURN_IF_ERROR(Expect("times"));
    FZ_ASSIGN_OR_RETURN(loop.times, TakeInt());
    if (loop.times > int64_t{1} << 40) return Fail(loop.times, " iterations are too many");
    FZ_RETURN_IF_ERROR(Expect("("));
    int64_t operand = 0;
    while (!TakeIf(")")) {
      if (!loop.sources.empty()) FZ_RETURN_IF_ERROR(Expect(","));
      Loop::Source source;
      FZ_RETURN_IF_ERROR(TakeSource(&source));
      source.operand = static_cast<int32_t>(operand);
      operand += source.kind == Loop::Source::Kind::kEach ? loop.times : 1;
      if (operand > static_cast<int64_t>(node->operands.size()))
        return Fail("the body takes more than ", node->operands.size(), " operands");
      loop.sources.push_back(source);
    }
    Parser body(text_);
    body.at_ = at_;
    body.line_ = line_;
    body.depth_ = depth_ + 1;
    FZ_RETURN_IF_ERROR(body.ParseGraph());
    at_ = body.at_;
    line_ = body.line_;
    loop.body = std::move(body.graph_);
    node->loop = LoopRef(new Loop(std::move(loop)));
    return absl::OkStatus();
  }

  Status TakeSource(Loop::Source* source) {
    using Kind = Loop::Source::Kind;
    if (TakeIf("same")) return absl::OkStatus();
    if (TakeIf("each")) {
      source->kind = Kind::kEach;
      return absl::OkStatus();
    }
    if (TakeIf("slide")) {
      source->kind = Kind::kSlide;
      FZ_ASSIGN_OR_RETURN(source->start, TakeInt());
      FZ_RETURN_IF_ERROR(Expect("by"));
      FZ_ASSIGN_OR_RETURN(source->step, TakeInt());
      return absl::OkStatus();
    }
    FZ_RETURN_IF_ERROR(Expect("state"));
    source->kind = Kind::kState;
    FZ_ASSIGN_OR_RETURN(const int64_t next, TakeInt());
    source->next = static_cast<int32_t>(std::clamp<int64_t>(next, -1, 1 << 30));
    return absl::OkStatus();
  }

  // The comment that ends an op's line.
  int32_t TakeOrigin() {
    const size_t at = text_.find_first_not_of(" \t", at_);
    if (at == std::string_view::npos || text_[at] != '#') return -1;
    at_ = std::min(text_.find('\n', at), text_.size());
    std::string_view comment = text_.substr(at + 1, at_ - at - 1);
    comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
    auto& origins = graph_.origins;
    for (size_t i = 0; i < origins.size(); ++i) {
      if (origins[i] == comment) return static_cast<int32_t>(i);
    }
    origins.emplace_back(comment);
    return static_cast<int32_t>(origins.size()) - 1;
  }

  static constexpr int kMaxDepth = 16;

  std::string_view text_;
  int depth_ = 0;
  size_t at_ = 0;
  int line_ = 1;
  Graph graph_;
  std::map<std::string, int32_t, std::less<>> ids_;
};

}  // namespace

StatusOr<Graph> Parse(std::string_view text) { return Parser(text).Run(); }

}  // namespace frazil::jit
