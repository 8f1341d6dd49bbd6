#include "jit/plan/compile.h"

#include <atomic>
#include <fstream>

#include "core/backend.h"
#include "core/check.h"
#include "core/config.h"
#include "core/profile.h"
#include "core/str.h"
#include "core/tuned.h"
#include "jit/cache/disk_store.h"
#include "jit/graph/duplicate.h"
#include "jit/graph/loop_kernel.h"
#include "jit/graph/order.h"
#include "jit/graph/pack.h"
#include "jit/graph/place.h"
#include "jit/graph/recompute.h"
#include "jit/graph/scalar_loop.h"
#include "jit/graph/while_loop.h"

namespace frazil::jit {
namespace {

// Writes the stages of one compilation as numbered files.
class Dumper {
 public:
  explicit Dumper(const std::string& dir) : dir_(dir) {
    static std::atomic<int> next{0};
    if (!dir_.empty()) number_ = next++;
  }
  bool on() const { return !dir_.empty(); }

  Status Write(std::string_view stage, std::string_view suffix, std::string_view text) {
    if (!on()) return absl::OkStatus();
    const std::string path = StrCat(dir_, "/graph", number_, ".", stage_++, ".", stage, suffix);
    std::ofstream file(path);
    file << text;
    if (!file) return FileError("[dump] cannot write ", path, ", named by FRAZIL_DUMP.");
    return absl::OkStatus();
  }

 private:
  const std::string& dir_;
  int number_ = 0, stage_ = 0;
};

// Of all passes, or of those that make loops, or of the others.
enum class Which { kAll, kLoops, kOthers };

Status RunPasses(Graph* graph, Precision precision, const CompileSettings& settings, Dumper* dumper,
                 Which which = Which::kAll) {
  if (dumper->on()) FZ_RETURN_IF_ERROR(dumper->Write("input", ".gir", Print(*graph)));
  for (const Pass& pass : Passes()) {
    if (!pass.run || !settings.passes.enabled(pass.name)) continue;
    const bool loops = pass.run == Roll || pass.run == WriteOut;
    if (which != Which::kAll && loops != (which == Which::kLoops)) continue;
    if (pass.by_rule && precision == Precision::kBlas) continue;
    pass.run(graph);
    if (settings.verify) {
      const Status status = Verify(*graph);
      if (!status.ok())
        return RuntimeError("[", pass.name, "] broke the graph: ", status.message(), "\n",
                            Print(*graph));
    }
    if (dumper->on()) FZ_RETURN_IF_ERROR(dumper->Write(pass.name, ".gir", Print(*graph)));
  }
  return absl::OkStatus();
}

// The bodies of loops that came with the graph; those of others were made by the passes.
Status SimplifyBodies(Graph* graph, Precision precision, const CompileSettings& settings,
                      Dumper* dumper) {
  const bool may = settings.passes.enabled("scalars") && precision != Precision::kBlas;
  for (int32_t id = graph->num_inputs; id < static_cast<int32_t>(graph->nodes.size()); ++id) {
    LoopRef& ref = graph->nodes[id].loop;
    if (!ref || ref->scalars || HasLoops(ref->body)) continue;
    Loop loop = *ref;
    FZ_RETURN_IF_ERROR(RunPasses(&loop.body, precision, settings, dumper, Which::kOthers));
    SeparateOutputs(&loop.body);
    ref = LoopRef(new Loop(loop));
    const bool counted = loop.condition < 0;
    loop.scalars = counted && may && IsWorthScalars(*graph, id);
    if (std::optional<Loop> scalars = !counted && may ? InScalars(loop) : std::nullopt) {
      loop = *std::move(scalars);
    } else if (!loop.scalars && !(counted && IsOneKernel(*graph, id))) {
      FZ_RETURN_IF_ERROR(RunPasses(&loop.body, precision, settings, dumper, Which::kLoops));
      SeparateOutputs(&loop.body);  // from what loops within have kept
    }
    ref = LoopRef(new Loop(std::move(loop)));
  }
  return absl::OkStatus();
}

void RecomputeWhereItPays(int64_t worth, KnownKernels* known, Graph* graph, Grouping* grouping) {
  Copies copies;
  std::optional<Graph> other = Recompute(*graph, *grouping, worth, &copies);
  if (!other) return;
  Grouping regrouped = Fuse(*other, true, copies, known);
  const int64_t before = PeakBytes(*graph, *grouping), after = PeakBytes(*other, regrouped);
  if (after > before - before / 16 && worth > 0) return;
  *graph = *std::move(other);
  *grouping = std::move(regrouped);
}

// What costs most of the time: which nodes there are, and which of them are a kernel.
struct Decided {
  Graph graph;
  Grouping grouping;
};

StatusOr<Decided> Decide(Graph graph, const CompileOptions& options,
                         const CompileSettings& settings, Dumper* dumper) {
  // A single op has nothing to rewrite. Loops are what the last passes make; the others know none.
  if (HasLoops(graph)) {
    FZ_RETURN_IF_ERROR(SimplifyBodies(&graph, options.precision, settings, dumper));
  } else if (static_cast<int>(graph.nodes.size()) > graph.num_inputs + 1) {
    FZ_RETURN_IF_ERROR(RunPasses(&graph, options.precision, settings, dumper));
  }
  FZ_RETURN_IF_ERROR(PlaceOperands(&graph));
  KnownKernels known;
  const bool fuse = options.fuse && settings.passes.enabled("fuse");
  Grouping grouping = Fuse(graph, fuse, {}, &known);
  if (fuse && settings.passes.enabled("recompute"))
    RecomputeWhereItPays(settings.worth_recomputing, &known, &graph, &grouping);
  if (fuse && settings.passes.enabled("duplicate")) {
    if (std::optional<Duplicated> other = Duplicate(graph, grouping, &known)) {
      graph = std::move(other->graph);
      grouping = std::move(other->grouping);
    }
  }
  if (fuse && settings.passes.enabled("order")) {
    if (std::optional<Grouping> other = OrderByMemory(graph, grouping, settings.worth_ordering))
      grouping = *std::move(other);
  }
  return Decided{std::move(graph), std::move(grouping)};
}

// Where collectives of devices run: not in each process at the same place, as its world has ways.
std::string PlacesOf(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes) {
    if (node.input || node.op != OpId::k_collective || CpuAddresses(node.device)) continue;
    StrAppend(&out, int(BackendOf(node.device).Where(node.op)), " ");
  }
  return out;
}

// The graph as it was recorded and whatever else Decide looks at.
std::string KeyOf(const Graph& graph, const CompileOptions& options,
                  const CompileSettings& settings) {
  return StrCat(options.fuse, " ", options.precision == Precision::kBlas, " ",
                settings.passes.off(), " ", settings.worth_recomputing, " ",
                settings.worth_ordering, " ", PlacesOf(graph), Pack(graph));
}

std::optional<Decided> UnpackDecided(std::string_view bytes, std::vector<std::string> origins) {
  std::optional<Graph> graph = UnpackGraph(&bytes, origins);
  if (!graph) return std::nullopt;
  std::optional<Grouping> grouping = UnpackGrouping(&bytes, *graph);
  if (!grouping || !bytes.empty()) return std::nullopt;
  graph->origins = std::move(origins);
  return Decided{*std::move(graph), *std::move(grouping)};
}

// Bodies of loops may have been written in other lines.
bool SameDecision(std::string_view bytes, const Decided& decided) {
  const std::optional<Decided> other = UnpackDecided(bytes, decided.graph.origins);
  return other && ContentKey(other->graph) == ContentKey(decided.graph) &&
         Pack(other->grouping) == Pack(decided.grouping);
}

// Decide, or what an earlier process decided.
StatusOr<Decided> FindOrDecide(Graph graph, const CompileOptions& options,
                               const CompileSettings& settings, Dumper* dumper) {
  if (!settings.on_disk || graph.nodes.size() < graph.num_inputs + tuned::kWorthKeeping ||
      !DiskIsOn())
    return Decide(std::move(graph), options, settings, dumper);
  const std::string key = KeyOf(graph, options, settings);
  const std::optional<std::string> found = FindOnDisk(OnDisk::kDecisions, key);
  if (found && !settings.verify) {
    if (std::optional<Decided> decided = UnpackDecided(*found, graph.origins))
      return *std::move(decided);
  }
  FZ_ASSIGN_OR_RETURN(Decided decided, Decide(std::move(graph), options, settings, dumper));
  std::string made = Pack(decided.graph) + Pack(decided.grouping);
  if (found && *found != made && !SameDecision(*found, decided))
    return RuntimeError("[disk] another plan was decided for this graph:\n", Print(decided.graph));
  if (!found) KeepOnDisk(OnDisk::kDecisions, key, std::move(made));
  return decided;
}

StatusOr<CompileSettings> SettingsFromConfig() {
  CompileSettings settings;
  FZ_ASSIGN_OR_RETURN(settings.passes, PassSwitches::FromText(GetConfig().passes));
  settings.verify = GetConfig().verify == "1";
  settings.dump_dir = GetConfig().dump;
  settings.on_disk = settings.dump_dir.empty();  // a dump shows the passes at work
  return settings;
}

}  // namespace

StatusOr<std::shared_ptr<const Plan>> CompileWith(Graph graph, const CompileOptions& options,
                                                  const CompileSettings& settings) {
  Dumper dumper(settings.dump_dir);
  FZ_ASSIGN_OR_RETURN(Decided decided, FindOrDecide(std::move(graph), options, settings, &dumper));
  if (HasLoops(decided.graph)) DropOrigins(&decided.graph);
  const BuildOptions build{options, settings.passes.enabled("inplace"),
                           settings.passes.enabled("branches"), settings.always_branch};
  FZ_ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(decided.graph, decided.grouping, build));
  auto plan = std::make_shared<const Plan>(std::move(schedule), std::move(decided.graph),
                                           std::move(decided.grouping), build);
  if (dumper.on()) FZ_RETURN_IF_ERROR(dumper.Write("plan", ".txt", plan->Dump()));
  return plan;
}

StatusOr<std::shared_ptr<const Plan>> CompileAgain(const Plan& plan,
                                                   const CompileOptions& options) {
  FZ_CHECK(plan.options().compile.precision == options.precision &&
           plan.options().compile.fuse == options.fuse);
  BuildOptions build = plan.options();
  build.compile = options;
  FZ_ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(plan.graph(), plan.grouping(), build));
  return std::make_shared<const Plan>(std::move(schedule), plan.graph(), plan.grouping(), build);
}

StatusOr<std::shared_ptr<const Plan>> Compile(Graph graph, const CompileOptions& options) {
  static const StatusOr<CompileSettings> settings = SettingsFromConfig();
  if (!settings.ok()) return settings.status();
  if (!Profiling()) return CompileWith(std::move(graph), options, *settings);
  const size_t ops = graph.nodes.size() - size_t(graph.num_inputs);
  const std::string name =
      ops == 1 ? StrCat("plan of ", NameOf(graph.nodes.back())) : StrCat("plan of ", ops, " ops");
  const std::string line =
      graph.origins.empty() || graph.origins[0].empty() ? ProfileLine() : graph.origins[0];
  const int64_t begin = ProfileClock();
  auto plan = CompileWith(std::move(graph), options, *settings);
  ProfileSpan(ProfileEvent::Kind::kPlan, name, line, begin);
  return plan;
}

}  // namespace frazil::jit
