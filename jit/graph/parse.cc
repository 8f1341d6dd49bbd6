#include <algorithm>
#include <map>

#include "core/text_cursor.h"
#include "jit/graph/graph.h"

namespace frazil::jit {
namespace {

Role FindRole(std::string_view name) {
  for (const Role role : {Role::kLoop, Role::kEnd, Role::kEvery}) {
    Node node;
    node.role = role;
    if (NameOf(node) == name) return role;
  }
  return Role::kOp;
}

class Parser {
 public:
  explicit Parser(TextCursor* text, int depth = 0) : text_(*text), depth_(depth) {}

  StatusOr<Graph> Run() {
    FZ_RETURN_IF_ERROR(ParseGraph());
    if (!text_.Peek().empty()) return text_.Fail("'", text_.Peek(), "' follows the graph");
    FZ_RETURN_IF_ERROR(Verify(graph_));
    return std::move(graph_);
  }

 private:
  Status ParseGraph() {
    FZ_RETURN_IF_ERROR(Header());
    while (text_.Peek() != "return") FZ_RETURN_IF_ERROR(Op());
    text_.Take();
    while (text_.Peek() != "}") {
      FZ_ASSIGN_OR_RETURN(const int32_t id, TakeId());
      graph_.outputs.push_back(id);
      if (!text_.TakeIf(",")) break;
    }
    return text_.Expect("}");
  }

  StatusOr<int32_t> TakeId() {
    const std::string_view name = text_.Take();
    const auto it = ids_.find(name);
    if (it == ids_.end()) return text_.Fail("'", name, "' names no earlier value");
    return it->second;
  }
  Status Name(std::string_view name, int32_t id) {
    if (name.size() < 2 || name[0] != '%') return text_.Fail("'", name, "' is no value name");
    if (!ids_.emplace(name, id).second) return text_.Fail("'", name, "' is defined twice");
    return absl::OkStatus();
  }

  Status Header() {
    FZ_RETURN_IF_ERROR(text_.Expect("graph"));
    FZ_RETURN_IF_ERROR(text_.Expect("("));
    while (!text_.TakeIf(")")) {
      if (graph_.num_inputs > 0) FZ_RETURN_IF_ERROR(text_.Expect(","));
      const bool zero = text_.TakeIf("zero");
      const bool scalar = text_.TakeIf("scalar");
      if (zero && !scalar) return text_.Fail("only a scalar is known to be zero");
      FZ_ASSIGN_OR_RETURN(const ArrayType type, text_.TakeType(scalar));
      const int32_t id = graph_.AddInput(type.dtype, type.device, type.layout, scalar);
      graph_.nodes[id].zero = zero;
      ids_.emplace(StrCat("%", id), id);
    }
    return text_.Expect("{");
  }

  // %name = op %a, %b {attrs} : [view] type [strides [..]] [offset n]  [# origin]
  Status Op() {
    const std::string_view name = text_.Take();
    if (name.empty()) return text_.Fail("'return' is missing at the end");
    FZ_RETURN_IF_ERROR(Name(name, static_cast<int32_t>(graph_.nodes.size())));
    FZ_RETURN_IF_ERROR(text_.Expect("="));
    const std::string_view op = text_.Take();
    Node node;
    node.role = FindRole(op);
    if (node.role == Role::kOp) {
      const auto known = OpNamed(op);
      if (!known) return text_.Fail("'", op, "' is no op");
      node.op = *known;
    }
    while (text_.Peek() != "{" && text_.Peek() != ":") {
      if (!node.operands.empty()) FZ_RETURN_IF_ERROR(text_.Expect(","));
      FZ_ASSIGN_OR_RETURN(const int32_t id, TakeId());
      if (id >= static_cast<int32_t>(graph_.nodes.size()))
        return text_.Fail("'", name, "' uses itself");
      node.operands.push_back(id);
    }
    if (text_.Peek() == "{") {
      FZ_ASSIGN_OR_RETURN(node.attrs, text_.TakeList("{", "}"));
    }
    FZ_RETURN_IF_ERROR(text_.Expect(":"));
    node.view = text_.TakeIf("view");
    FZ_ASSIGN_OR_RETURN(const ArrayType type, text_.TakeType(false));
    node.dtype = type.dtype;
    node.device = type.device;
    node.layout = type.layout;
    if (text_.TakeIf("offset")) {
      FZ_ASSIGN_OR_RETURN(node.offset, text_.TakeInt());
    }
    if (node.role == Role::kLoop) FZ_RETURN_IF_ERROR(TakeLoop(&node));
    node.origin = TakeOrigin();
    graph_.nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  // while c times n as scalars (a source for each input of the body) graph ...
  Status TakeLoop(Node* node) {
    if (depth_ == kMaxDepth)
      return text_.Fail("loops stand in each other more than ", kMaxDepth, " deep");
    Loop loop;
    if (text_.TakeIf("while")) {
      FZ_ASSIGN_OR_RETURN(const int64_t condition, text_.TakeInt());
      loop.condition = static_cast<int32_t>(condition);
    }
    FZ_RETURN_IF_ERROR(text_.Expect("times"));
    FZ_ASSIGN_OR_RETURN(loop.times, text_.TakeInt());
    if (loop.condition < 0 && loop.times > int64_t{1} << 40)
      return text_.Fail(loop.times, " iterations are too many");
    loop.scalars = text_.TakeIf("as");
    if (loop.scalars) FZ_RETURN_IF_ERROR(text_.Expect("scalars"));
    FZ_RETURN_IF_ERROR(text_.Expect("("));
    int64_t operand = 0;
    while (!text_.TakeIf(")")) {
      if (!loop.sources.empty()) FZ_RETURN_IF_ERROR(text_.Expect(","));
      Loop::Source source;
      FZ_RETURN_IF_ERROR(TakeSource(&source));
      source.operand = static_cast<int32_t>(operand);
      operand += source.kind == Loop::Source::Kind::kEach ? loop.times : 1;
      if (operand > static_cast<int64_t>(node->operands.size()))
        return text_.Fail("the body takes more than ", node->operands.size(), " operands");
      loop.sources.push_back(source);
    }
    Parser body(&text_, depth_ + 1);
    FZ_RETURN_IF_ERROR(body.ParseGraph());
    loop.body = std::move(body.graph_);
    node->loop = LoopRef(new Loop(std::move(loop)));
    return absl::OkStatus();
  }

  Status TakeSource(Loop::Source* source) {
    using Kind = Loop::Source::Kind;
    if (text_.TakeIf("same")) return absl::OkStatus();
    if (text_.TakeIf("each")) {
      source->kind = Kind::kEach;
      return absl::OkStatus();
    }
    if (text_.TakeIf("slide")) {
      source->kind = Kind::kSlide;
      FZ_ASSIGN_OR_RETURN(source->start, text_.TakeInt());
      FZ_RETURN_IF_ERROR(text_.Expect("by"));
      FZ_ASSIGN_OR_RETURN(source->step, text_.TakeInt());
      return absl::OkStatus();
    }
    FZ_RETURN_IF_ERROR(text_.Expect("state"));
    source->kind = Kind::kState;
    FZ_ASSIGN_OR_RETURN(const int64_t next, text_.TakeInt());
    source->next = static_cast<int32_t>(std::clamp<int64_t>(next, -1, 1 << 30));
    return absl::OkStatus();
  }

  // The comment that ends an op's line.
  int32_t TakeOrigin() {
    const auto comment = text_.TakeComment();
    if (!comment) return -1;
    auto& origins = graph_.origins;
    for (size_t i = 0; i < origins.size(); ++i) {
      if (origins[i] == *comment) return static_cast<int32_t>(i);
    }
    origins.emplace_back(*comment);
    return static_cast<int32_t>(origins.size()) - 1;
  }

  static constexpr int kMaxDepth = 16;

  TextCursor& text_;
  const int depth_;
  Graph graph_;
  std::map<std::string, int32_t, std::less<>> ids_;
};

}  // namespace

StatusOr<Graph> Parse(std::string_view text) {
  TextCursor cursor("graph", text);
  return Parser(&cursor).Run();
}

}  // namespace frazil::jit
