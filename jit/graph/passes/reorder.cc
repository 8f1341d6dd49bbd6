// The reorder pass: what is made of a convolution's result is computed as that lies. Networks with
// channels first see results, which have them last, through a permutation: every value made of such
// a view would be moved, and moved back for the next convolution. Here elementwise values are made
// in the order of memory, and what reads them sees them through the permutation. The same for the
// gradient of every second element (of pooling), which is padded along an axis of its own and then
// reshaped: what is added to it is computed before the reshape, in the kernel that pads.
//
// Elements stay what they were, and so does the logical order in which reductions take them.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <ranges>

#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

constexpr int64_t kMinTurned = 4096;  // elements of what is copied into the order of its readers

// A value as a view of `base`: each of its axes is some of base's, as a row-major index.
struct Form {
  int32_t base = -1;
  std::vector<std::vector<int>> axes = {};
  bool made = false;    // of a convolution's result
  bool padded = false;  // base has an axis that was made to be padded
};

class Reorderer {
 public:
  explicit Reorderer(const Graph& graph) : old_(graph) {}

  Graph Run() {
    const auto count = static_cast<int32_t>(old_.nodes.size());
    kept_.assign(old_.nodes.size(), false);
    for (int32_t id : old_.outputs) {
      for (kept_[id] = true; old_.nodes[id].view; kept_[id] = true) id = old_.nodes[id].operands[0];
    }
    graph_.num_inputs = old_.num_inputs;
    graph_.origins = old_.origins;
    forms_.resize(old_.nodes.size());
    shown_.assign(old_.nodes.size(), -1);
    for (int32_t id = 0; id < count; ++id) {
      if (!Take(id)) Plain(id);
    }
    for (const int32_t id : old_.outputs) graph_.outputs.push_back(Show(id));
    return std::move(graph_);
  }

 private:
  const Layout& LayoutOf(int32_t id) const { return *graph_.nodes[id].layout; }
  Dims DimsOf(int32_t id) const { return graph_.nodes[id].layout->dims(); }
  Dims OldDims(int32_t id) const { return old_.nodes[id].layout->dims(); }

  int32_t Add(OpId op, absl::Span<const int32_t> operands, const Attrs& attrs, int32_t origin) {
    return Must(graph_.AddOp(op, operands, attrs, origin));
  }
  int32_t Reshape(int32_t id, const Attrs& dims, int32_t origin) {
    const Dims own = DimsOf(id);
    if (std::equal(own.begin(), own.end(), dims.begin(), dims.end())) return id;
    return Add(OpId::k_reshape, {id}, dims, origin);
  }

  // Base's axes in the value's order.
  static std::vector<int> Flat(const Form& form) {
    std::vector<int> flat;
    for (const std::vector<int>& axes : form.axes)
      flat.insert(flat.end(), axes.begin(), axes.end());
    return flat;
  }
  // Whether axes of more than one element come in another order than base's.
  bool Permutes(const Form& form) const {
    int last = -1;
    for (const int axis : Flat(form)) {
      if (LayoutOf(form.base).extents[axis] == 1) continue;
      if (axis < last) return true;
      last = axis;
    }
    return false;
  }

  // The value of old node `id` as it was.
  int32_t Show(int32_t id) {
    if (shown_[id] >= 0) return shown_[id];
    const Form& form = forms_[id];
    const int32_t origin = old_.nodes[id].origin;
    int32_t now = form.base;
    if (Permutes(form)) {
      const std::vector<int> flat = Flat(form);
      now = Add(OpId::k_permute_dims, {now}, Attrs(flat.begin(), flat.end()), origin);
    }
    const Dims dims = OldDims(id);
    return shown_[id] = Reshape(now, Attrs(dims.begin(), dims.end()), origin);
  }

  void SetIdentity(int32_t id, int32_t now, bool made) {
    Form form{now, std::vector<std::vector<int>>(size_t(LayoutOf(now).rank)), made};
    for (size_t i = 0; i < form.axes.size(); ++i) form.axes[i] = {int(i)};
    forms_[id] = std::move(form);
    shown_[id] = now;
  }

  void Plain(int32_t id) {
    Node node = old_.nodes[id];
    bool made = !node.input && node.device == Device() &&
                (Info(node.op).klass == OpClass::kConv || IsTiles(node));
    const bool pointwise = IsPointwise(node.op);
    for (int32_t& x : node.operands) {
      made |= forms_[x].made && (node.view || pointwise);
      x = pointwise ? Turned(x) : Show(x);
    }
    SetIdentity(id, AddAgain(std::move(node), &graph_), made);
  }

  // The result of a transposed convolution whose steps are as long as its kernel: a product's
  // columns, put together as tiles, with the channels last.
  bool IsTiles(const Node& n) const {
    if (n.op != OpId::k_copy || n.role != Role::kOp || n.layout->rank < 5) return false;
    const Node& turned = old_.nodes[n.operands[0]];
    const Node& made = old_.nodes[BaseOf(old_, n.operands[0])];
    return turned.view && !made.input && made.op == OpId::k_matmul &&
           turned.layout->strides_[turned.layout->rank - 1] == 1;
  }

  // The gradient of a kernel lies otherwise than the kernel, which all steps of an optimizer see: it
  // is copied once.
  int32_t Turned(int32_t id) {
    const Node& n = old_.nodes[id];
    const Node& made = old_.nodes[BaseOf(old_, id)];
    const bool turned = n.view && n.op == OpId::k_permute_dims && !made.input &&
                        Info(made.op).klass == OpClass::kConvWeights && n.device == Device();
    if (!turned || n.layout->rank == 0 || n.layout->strides_[n.layout->rank - 1] == 1)
      return Show(id);
    auto [copy, fresh] = turned_.try_emplace(id, -1);
    if (fresh) copy->second = Add(OpId::k_copy, {Show(id)}, {}, n.origin);
    return copy->second;
  }

  // False: nothing is to be done, or cannot be.
  bool Take(int32_t id) {
    const Node& n = old_.nodes[id];
    if (n.input || kept_[id] || n.role != Role::kOp || !(n.device == Device()) ||
        n.operands.empty())
      return false;
    if (n.view ? !forms_[n.operands[0]].made : n.layout->size == 0) return false;
    std::optional<Form> form;
    if (n.op == OpId::k_permute_dims) {
      form = Permuted(forms_[n.operands[0]], n.attrs);
    } else if (n.op == OpId::k_reshape) {
      form = Reshaped(forms_[n.operands[0]], n.layout->dims(), n.origin);
    } else if (n.op == OpId::k_slice) {
      form = Sliced(n);
    } else if (n.op == OpId::k_pad) {
      form = Padded(n);
    } else if (n.op == OpId::k_concat || n.op == OpId::k_take) {
      form = Along(n);
    } else if (Info(n.op).klass == OpClass::kReduce) {
      form = Reduced(n);
    } else if (IsPointwise(n.op) && n.op != OpId::k_copy) {
      form = Computed(n);
    }
    if (!form) return false;
    forms_[id] = *std::move(form);
    return true;
  }

  static Form Permuted(Form form, const Attrs& order) {
    const std::vector<std::vector<int>> axes = std::move(form.axes);
    form.axes.clear();
    for (const int64_t axis : order) form.axes.push_back(axes[size_t(axis)]);
    return form;
  }

  // Axes of base with their strides, which reshapes take apart.
  struct Axes {
    Attrs extents, strides;
  };

  // Whether these axes are a run of memory, and so one axis of a view.
  static bool AreRun(const Axes& in, const std::vector<int>& axes) {
    int before = -1;
    for (const int a : axes) {
      if (in.extents[a] == 1) continue;
      if (before >= 0 && (a < before || in.strides[before] != in.strides[a] * in.extents[a]))
        return false;
      before = a;
    }
    return true;
  }

  // Axis `a` of `in` as two, the outer one of `outer` elements; `all`: the axes of a form.
  static void TakeApart(int a, int64_t outer, Axes* in, std::vector<std::vector<int>>* all,
                        std::vector<int>* left) {
    const int64_t inner = in->extents[a] / outer;
    in->extents[a] = outer;
    in->extents.insert(in->extents.begin() + a + 1, inner);
    in->strides.insert(in->strides.begin() + a, in->strides[a] * inner);
    const auto number = [a](std::vector<int>* axes) {
      for (int& axis : *axes) axis += axis > a;
    };
    for (std::vector<int>& axes : *all) number(&axes);
    number(left);
    left->insert(std::find(left->begin(), left->end(), a) + 1, a + 1);
  }

  // Axes that are joined or taken apart. Those of one element go along.
  std::optional<Form> Reshaped(const Form& form, Dims to, int32_t origin) {
    const Layout& layout = LayoutOf(form.base);
    Axes in{Attrs(layout.dims().begin(), layout.dims().end()),
            Attrs(layout.strides().begin(), layout.strides().end())};
    std::vector<int> left = Flat(form);  // base's axes, in order
    Form now{form.base, {}, form.made, form.padded};
    size_t next = 0;
    for (const int64_t extent : to) {
      std::vector<int> axes;
      for (int64_t size = 1; size < extent; ++next) {
        while (next < left.size() && in.extents[left[next]] == 1) axes.push_back(left[next++]);
        if (next == left.size()) return std::nullopt;
        if (const int64_t whole = size * in.extents[left[next]]; whole > extent) {
          if (extent % size != 0 || whole % extent != 0) return std::nullopt;
          now.axes.push_back(std::move(axes));
          TakeApart(left[next], extent / size, &in, &now.axes, &left);
          axes = std::move(now.axes.back());
          now.axes.pop_back();
        }
        axes.push_back(left[next]);
        size *= in.extents[left[next]];
      }
      if (!AreRun(in, axes)) return std::nullopt;
      now.axes.push_back(std::move(axes));
    }
    if (now.axes.empty() || next == 0) return std::nullopt;
    for (; next < left.size(); ++next) now.axes.back().push_back(left[next]);
    now.base = Reshape(now.base, in.extents, origin);
    return now;
  }

  // The axis of base that an axis of the value is; -1: several, -2: none.
  int OnlyAxis(const Form& form, size_t axis) const {
    int only = -2;
    for (const int a : form.axes[axis]) {
      if (LayoutOf(form.base).extents[a] != 1) only = only == -2 ? a : -1;
    }
    return only;
  }

  std::optional<Form> Sliced(const Node& n) {
    Form form = forms_[n.operands[0]];
    const Dims dims = OldDims(n.operands[0]);
    Attrs attrs;
    for (const int64_t extent : DimsOf(form.base)) attrs.insert(attrs.end(), {0, 1, extent});
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t* part = &n.attrs[3 * i];
      if (part[0] == 0 && part[1] == 1 && part[2] == dims[i]) continue;
      const int axis = OnlyAxis(form, i);
      if (axis < 0) return std::nullopt;
      std::copy_n(part, 3, attrs.begin() + 3 * axis);
    }
    form.base = Add(OpId::k_slice, {form.base}, attrs, n.origin);
    return form;
  }

  // Axes of one element that are padded become axes of base, behind the value's axis before them.
  std::optional<Form> Padded(const Node& n) {
    Form form = forms_[n.operands[0]];
    if (!form.made) return std::nullopt;
    Attrs dims(DimsOf(form.base).begin(), DimsOf(form.base).end());
    const size_t rank = form.axes.size();
    std::vector<int> only(rank);
    for (size_t i = 0; i < rank; ++i) only[i] = OnlyAxis(form, i);
    for (size_t i = 0; i < rank; ++i) {
      if (n.attrs[2 * i] == 0 && n.attrs[2 * i + 1] == 0) continue;
      const int axis = only[i];
      if (axis == -1 || (axis == -2 && (i == 0 || form.axes[i - 1].empty()))) return std::nullopt;
      if (axis >= 0) continue;
      const int at = form.axes[i - 1].back() + 1;
      dims.insert(dims.begin() + at, 1);
      for (std::vector<int>& axes : form.axes) {
        for (int& a : axes) a += a >= at;
      }
      form.axes[i].assign(1, at);
      form.padded = true;
    }
    if (Flat(form).size() != dims.size()) return std::nullopt;  // such an axis was one of base's
    form.base = Reshape(form.base, dims, n.origin);
    Attrs attrs(2 * dims.size(), 0);
    for (size_t i = 0; i < rank; ++i) {
      if (n.attrs[2 * i] == 0 && n.attrs[2 * i + 1] == 0) continue;
      const int axis = only[i] >= 0 ? OnlyAxis(form, i) : form.axes[i][0];
      std::copy_n(&n.attrs[2 * i], 2, attrs.begin() + 2 * axis);
    }
    form.base = Add(OpId::k_pad, {form.base, Show(n.operands[1])}, attrs, n.origin);
    return form;
  }

  // What is put together along an axis, or taken along it: along base's axis. For forms that are
  // permutations.
  std::optional<Form> Along(const Node& n) {
    const bool takes = n.op == OpId::k_take;
    if (takes && old_.nodes[n.operands[1]].layout->rank != 1) return std::nullopt;
    const Form* best = nullptr;
    for (const int32_t x : n.operands) {
      const Form& form = forms_[x];
      if (form.made && !best && Permutes(form) &&
          std::ranges::all_of(form.axes, [](const auto& axes) { return axes.size() == 1; }) &&
          Flat(form).size() == DimsOf(form.base).size())
        best = &form;
      if (takes) break;
    }
    if (!best) return std::nullopt;
    Form form = *best;
    Attrs back(form.axes.size());
    for (size_t i = 0; i < back.size(); ++i) back[size_t(form.axes[i][0])] = int64_t(i);
    absl::InlinedVector<int32_t, 3> operands;
    for (size_t i = 0; i < n.operands.size(); ++i) {
      const int32_t x = n.operands[i];
      const bool index = takes && i == 1, alike = forms_[x].axes == form.axes;
      operands.push_back(index   ? Show(x)
                         : alike ? forms_[x].base
                                 : Add(OpId::k_permute_dims, {Show(x)}, back, n.origin));
    }
    const int64_t axis = form.axes[size_t(n.attrs[0])][0];
    form.base = Add(n.op, operands, {axis}, n.origin);
    return form;
  }

  // Whether a reduction takes base's elements as those of the value: in the same order, in as many
  // lanes.
  bool ReducesAlike(const Node& n, const Form& form) const {
    if (!IsFloat(n.dtype) || (n.op != OpId::k_sum && n.op != OpId::k_prod)) return true;
    int last = -1;
    int64_t count = 1;
    for (size_t i = 0; i < form.axes.size(); ++i) {
      for (const int axis : form.axes[i]) {
        const int64_t extent = LayoutOf(form.base).extents[axis];
        if (!(n.attrs[0] >> i & 1) || extent == 1) continue;
        if (axis < last) return false;
        last = axis;
        count *= extent;
      }
    }
    if (count <= 8) return true;  // 64 lanes are halved as 8 are, once the empty ones are gone
    const auto holds = [&](const std::vector<int>& axes) {
      return std::find(axes.begin(), axes.end(), LayoutOf(form.base).rank - 1) != axes.end();
    };
    const auto inner = std::find_if(form.axes.begin(), form.axes.end(), holds);
    const auto reduced = [&](size_t i) { return n.attrs[0] >> i & 1; };
    return reduced(size_t(inner - form.axes.begin())) == reduced(form.axes.size() - 1);
  }

  // Over base's axes as they lie; or as the value has them, if that sees them joined.
  std::optional<Form> Reduced(const Node& n) {
    Form form = forms_[n.operands[0]];
    if (!form.made || form.axes.empty() || Has(n.op, traits::kIndex)) return std::nullopt;
    if (!form.padded && !Permutes(form)) return std::nullopt;
    const std::vector<int> flat = Flat(form);
    if (!ReducesAlike(n, form)) {
      if (!form.padded || form.axes.back().empty()) return std::nullopt;
      form.base = Add(OpId::k_permute_dims, {form.base}, Attrs(flat.begin(), flat.end()), n.origin);
      int at = 0;
      for (std::vector<int>& axes : form.axes) {
        for (int& axis : axes) axis = at++;
      }
    }
    int64_t mask = 0;
    for (size_t i = 0; i < form.axes.size(); ++i) {
      for (const int axis : form.axes[i]) mask |= (n.attrs[0] >> i & 1) << axis;
    }
    if (mask == 0) return std::nullopt;
    Form now{Add(n.op, {form.base}, {mask, n.attrs[1]}, n.origin), {}, true};
    for (size_t i = 0; i < form.axes.size(); ++i) {
      if (n.attrs[1] == 0 && n.attrs[0] >> i & 1) continue;
      for (int& axis : form.axes[i]) {
        const int64_t before = mask & ((int64_t{1} << axis) - 1);
        if (n.attrs[1] == 0) axis -= std::popcount(uint64_t(before));
      }
      now.axes.push_back(form.axes[i]);
    }
    return now;
  }

  // Operand `id` of a value of these dims as an operand of one that is `form`.
  int32_t Mapped(int32_t id, const Form& form, Dims dims) {
    while (old_.nodes[id].view && old_.nodes[id].op == OpId::k_broadcast_to)
      id = old_.nodes[id].operands[0];
    const Dims own = OldDims(id), base = DimsOf(form.base);
    if (own.empty()) return Show(id);
    const Form& other = forms_[id];
    if (own == dims && other.axes == form.axes && DimsOf(other.base) == base) return other.base;
    const std::vector<int> flat = Flat(form);
    Attrs apart, whole(flat.size(), 1);
    const size_t shift = dims.size() - own.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      for (const int axis : form.axes[i]) {
        const bool one = i < shift || own[i - shift] != dims[i];
        apart.push_back(one ? 1 : base[size_t(axis)]);
        whole[size_t(axis)] = apart.back();
      }
    }
    const int32_t x = Show(id), origin = old_.nodes[id].origin;
    int last = -1;
    bool in_order = true;
    for (size_t i = 0; i < flat.size(); ++i) {
      if (apart[i] == 1) continue;
      in_order &= flat[i] > last;
      last = flat[i];
    }
    if (in_order) return Reshape(x, whole, origin);
    Attrs back(flat.size());
    for (size_t i = 0; i < flat.size(); ++i) back[size_t(flat[i])] = int64_t(i);
    const int32_t mapped = Add(OpId::k_permute_dims, {Reshape(x, apart, origin)}, back, origin);
    const Node& made = old_.nodes[BaseOf(old_, id)];
    const Layout& layout = LayoutOf(mapped);
    int last_axis = layout.rank - 1;
    while (last_axis > 0 && layout.extents[last_axis] == 1) --last_axis;
    if (made.input || !IsLibrary(made.op) || layout.size < kMinTurned ||
        layout.strides_[last_axis] <= 1)
      return mapped;
    Attrs key = back;
    key.insert(key.end(), whole.begin(), whole.end());
    auto [copy, fresh] = moved_.try_emplace({id, std::move(key)}, -1);
    if (fresh) copy->second = Add(OpId::k_copy, {mapped}, {}, origin);
    return copy->second;
  }

  std::optional<Form> Computed(const Node& n) {
    const Form* best = nullptr;
    for (const int32_t x : n.operands) {
      const Form& form = forms_[x];
      if (!form.made || OldDims(x) != n.layout->dims()) continue;
      if (!form.padded && !Permutes(form)) continue;
      if (!best || (form.padded && !best->padded)) best = &form;
    }
    if (!best) return std::nullopt;
    Form form = *best;
    absl::InlinedVector<int32_t, 3> operands;
    for (const int32_t x : n.operands) operands.push_back(Mapped(x, form, n.layout->dims()));
    form.base = Add(n.op, operands, n.attrs, n.origin);
    return form;
  }

  const Graph& old_;
  Graph graph_;
  std::vector<bool> kept_;  // outputs, and what they are views of
  std::vector<Form> forms_;
  std::vector<int32_t> shown_;  // of old nodes; -1: not yet
  std::map<int32_t, int32_t> turned_;
  std::map<std::pair<int32_t, Attrs>, int32_t> moved_;  // by order and extents
};

}  // namespace

void Reorder(Graph* graph) {
  const auto convolves = [](const Node& n) {
    return !n.input && n.role == Role::kOp && Info(n.op).klass == OpClass::kConv &&
           n.device == Device();
  };
  if (HasLoops(*graph) || !std::any_of(graph->nodes.begin(), graph->nodes.end(), convolves)) return;
  *graph = Reorderer(*graph).Run();
}

}  // namespace frazil::jit
