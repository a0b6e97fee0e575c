// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "mscclpp/plan_json.hpp"

namespace coppice::mscclpp {

namespace {

using Json = nlohmann::json;

constexpr int kMaxRanks = 4096;
constexpr std::size_t kMaxAllOps = std::size_t{1} << 22;
constexpr int kMaxNumber = 1 << 30;

/// Leaves the reader; caught in readPlan.
struct Refusal {
  Error error;
};

/// Where the reader is: for messages.
struct Where {
  std::string text = {};  ///< "semaphore 2: "; empty where the element says it all
  ElementRef element = {};

  [[nodiscard]] Where inside(RefKind kind, std::size_t index) const { return {text, element.with({kind, index})}; }
  [[nodiscard]] Where inside(const char* name, std::size_t index) const {
    return {std::string(name) + " " + std::to_string(index) + ": ", element};
  }
};

class PlanReader {
public:
  explicit PlanReader(const std::string& fileName) : m_fileName(fileName) {}

  ExecutionPlan read(const Json& json) {
    const Where top;
    if (!json.is_object()) {
      refuse(top, "an execution plan is a JSON object", "give the file that the executor reads");
    }
    ExecutionPlan plan;
    plan.name = text(top, json, "name");
    plan.collective = text(top, json, "collective");
    plan.protocol = text(top, json, "protocol");
    plan.inPlace = truth(top, require(top, json, "inplace"), "inplace");
    plan.reusesResources = truthOr(top, json, "reuse_resources", false);
    plan.doublesScratch = truthOr(top, json, "use_double_scratch_buffer", false);
    plan.threadsPerBlock = numberOr(top, json, "num_threads_per_block", plan.threadsPerBlock);
    plan.alignment = numberOr(top, json, "buffer_alignment", static_cast<int>(plan.alignment));
    readWindow(json, plan);
    const Json& gpus = list(top, json, "gpus");
    if (gpus.empty()) {
      refuse(top, "gpus is empty", "give one entry for each rank");
    }
    if (gpus.size() > kMaxRanks) {
      refuse(top,
             "gpus has " + std::to_string(gpus.size()) + " entries; at most " + std::to_string(kMaxRanks) + " are read",
             "split the plan", ErrorCode::limit);
    }
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      const Where where = top.inside(RefKind::rank, rank);
      object(where, gpus[rank], "entry of gpus");
      const int id = number(where, gpus[rank], "id");
      if (id != static_cast<int>(rank)) {
        refuse(where, "id is " + std::to_string(id) + "; the executor takes entry r of gpus for rank r",
               "sort gpus by id, without gaps");
      }
      plan.gpus.push_back(readGpu(where, gpus[rank]));
    }
    return plan;
  }

private:
  [[noreturn]] void refuse(const Where& where, const std::string& what, std::string fix,
                           ErrorCode code = ErrorCode::badInput) const {
    throw Refusal{{code, where.text + what, std::move(fix), {.file = m_fileName, .element = where.element}}};
  }

  // Members and their types.
  const Json& require(const Where& where, const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end()) {
      refuse(where, "no " + inQuotes(key), "add it: the executor cannot do without");
    }
    return *found;
  }
  void object(const Where& where, const Json& json, const std::string& what) const {
    if (!json.is_object()) {
      refuse(where, "this " + what + " is not an object", "write it as { … }");
    }
  }
  const Json& list(const Where& where, const Json& json, const char* key) const {
    const Json& found = require(where, json, key);
    if (!found.is_array()) {
      refuse(where, std::string(key) + " is not an array", "write it as [ … ]");
    }
    return found;
  }
  std::string text(const Where& where, const Json& json, const char* key) const {
    const Json& found = require(where, json, key);
    if (!found.is_string()) {
      refuse(where, std::string(key) + " is not a text", "put it in double quotes");
    }
    return found.get<std::string>();
  }
  bool truth(const Where& where, const Json& found, const char* key) const {
    if (!found.is_boolean()) {
      refuse(where, std::string(key) + " is neither true nor false", "write true or false");
    }
    return found.get<bool>();
  }
  bool truthOr(const Where& where, const Json& json, const char* key, bool other) const {
    const auto found = json.find(key);
    return found == json.end() ? other : truth(where, *found, key);
  }
  int whole(const Where& where, const Json& found, const char* key) const {
    if (!found.is_number_integer()) {
      refuse(where, std::string(key) + " is not a whole number", "write a whole number");
    }
    const bool isHuge = found.is_number_unsigned() && found.get<std::uint64_t>() > kMaxNumber;
    if (isHuge || found.get<std::int64_t>() > kMaxNumber || found.get<std::int64_t>() < -kMaxNumber) {
      refuse(where, std::string(key) + " is out of range: the executor keeps it in 32 bits", "give a smaller number");
    }
    return found.get<int>();
  }
  int number(const Where& where, const Json& json, const char* key) const {
    return whole(where, require(where, json, key), key);
  }
  int numberOr(const Where& where, const Json& json, const char* key, int other) const {
    const auto found = json.find(key);
    return found == json.end() ? other : whole(where, *found, key);
  }
  std::vector<int> numbers(const Where& where, const Json& json, const char* key) const {
    std::vector<int> found;
    for (const Json& entry : list(where, json, key)) {
      found.push_back(whole(where, entry, key));
    }
    return found;
  }
  Buffer buffer(const Where& where, const Json& json, const char* key) const {
    const std::string letter = text(where, json, key);
    if (letter == "i") {
      return Buffer::input;
    }
    if (letter == "o") {
      return Buffer::output;
    }
    if (letter == "s") {
      return Buffer::scratch;
    }
    refuse(where, std::string(key) + " is " + inQuotes(letter), "use i (input), o (output) or s (scratch)");
  }
  ChannelType channelTypeNamed(const Where& where, const std::string& name, const char* key) const {
    for (const ChannelType type : {ChannelType::none, ChannelType::memory, ChannelType::port, ChannelType::switched}) {
      if (name == toString(type)) {
        return type;
      }
    }
    refuse(where, std::string(key) + " is " + inQuotes(name), "use memory, port or switch");
  }
  ChannelType channelType(const Where& where, const Json& json, const char* key) const {
    return channelTypeNamed(where, text(where, json, key), key);
  }

  /// The executor reads the lower end in 32 bits, the upper one in 64.
  void readWindow(const Json& json, ExecutionPlan& plan) const {
    const Where top;
    const auto min = json.find("min_message_size");
    if (min != json.end()) {
      if (!min->is_number_integer()) {
        refuse(top, "min_message_size is not a whole number", "write bytes");
      }
      if (*min < 0 || *min > (std::int64_t{1} << 31) - 1) {
        refuse(top, "min_message_size is " + min->dump() + ": the executor reads it in 32 bits",
               "give 0 to 2147483647 bytes");
      }
      plan.minBytes = min->get<std::int64_t>();
    }
    const auto max = json.find("max_message_size");
    if (max != json.end()) {
      if (!max->is_number_unsigned()) {
        refuse(top, "max_message_size is not a whole number of bytes", "write bytes, 0 or more");
      }
      plan.maxBytes = max->get<std::uint64_t>();
    }
  }

  Gpu readGpu(const Where& where, const Json& json) {
    Gpu gpu;
    gpu.inputChunks = number(where, json, "input_chunks");
    gpu.outputChunks = number(where, json, "output_chunks");
    gpu.scratchChunks = number(where, json, "scratch_chunks");
    gpu.hasNoShare = truthOr(where, json, "no_share", false);
    const Json& channels = list(where, json, "channels");
    for (std::size_t at = 0; at < channels.size(); ++at) {
      readChannels(where.inside("entry of channels", at), channels[at], gpu);
    }
    const Json& buffers = list(where, json, "remote_buffers");
    for (std::size_t at = 0; at < buffers.size(); ++at) {
      gpu.remoteBuffers.push_back(readRemoteBuffer(where.inside("entry of remote_buffers", at), buffers[at]));
    }
    if (json.contains("semaphores")) {
      const Json& semaphores = list(where, json, "semaphores");
      for (std::size_t at = 0; at < semaphores.size(); ++at) {
        const Where here = where.inside("semaphore", at);
        object(here, semaphores[at], "semaphore");
        gpu.semaphores.push_back(number(here, semaphores[at], "init_value"));
      }
    }
    const Json& blocks = list(where, json, "threadblocks");
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      const Where here = where.inside(RefKind::threadblock, at);
      object(here, blocks[at], "threadblock");
      const int id = number(here, blocks[at], "id");
      if (id != static_cast<int>(at)) {
        refuse(here, "id is " + std::to_string(id) + ": the executor files operations by place and channels by id",
               "number threadblocks 0, 1, 2 … in the order of the file");
      }
      gpu.blocks.push_back(readBlock(here, blocks[at]));
    }
    return gpu;
  }

  void readChannels(const Where& where, const Json& json, Gpu& gpu) const {
    object(where, json, "entry of channels");
    const ChannelType type = channelType(where, json, "channel_type");
    if (type == ChannelType::none) {
      refuse(where, "channel_type is none", "use memory, port or switch");
    }
    if (type != ChannelType::switched) {
      std::vector<int>& peers = type == ChannelType::memory ? gpu.memoryPeers : gpu.portPeers;
      const std::vector<int> here = numbers(where, json, "connected_to");
      peers.insert(peers.end(), here.begin(), here.end());
      return;
    }
    if (!json.contains("buffer_type") && json.contains("buff")) {
      refuse(where, "a switch channel names its buffer by \"buff\", the key of an older schema",
             "write buffer_type: executors from 0.8 on read no other");
    }
    const Buffer kind = buffer(where, json, "buffer_type");
    for (const Json& group : list(where, json, "rank_groups")) {
      object(where, group, "group of ranks");
      gpu.switchGroups.push_back({kind, number(where, group, "size"), numbers(where, group, "ranks")});
    }
  }

  RemoteBuffer readRemoteBuffer(const Where& where, const Json& json) const {
    object(where, json, "remote buffer");
    RemoteBuffer remote{.rank = number(where, json, "rank"), .buffer = buffer(where, json, "type")};
    for (const Json& access : list(where, json, "access_channel_types")) {
      if (!access.is_string()) {
        refuse(where, "access_channel_types holds something that is not a text", "use memory and port");
      }
      const ChannelType type = channelTypeNamed(where, access.get<std::string>(), "access_channel_types");
      remote.byMemory = remote.byMemory || type == ChannelType::memory;
      remote.byPort = remote.byPort || type == ChannelType::port;
    }
    return remote;
  }

  ThreadBlock readBlock(const Where& where, const Json& json) {
    ThreadBlock block;
    for (const Json& entry : list(where, json, "channels")) {
      object(where, entry, "entry of channels");
      const ChannelType type = channelType(where, entry, "channel_type");
      const std::vector<int> ids = numbers(where, entry, "channel_ids");
      std::vector<int>* into = type == ChannelType::memory     ? &block.memoryChannels
                               : type == ChannelType::port     ? &block.portChannels
                               : type == ChannelType::switched ? &block.switchGroups
                                                               : nullptr;
      if (into != nullptr) {
        into->insert(into->end(), ids.begin(), ids.end());
      }
    }
    if (json.contains("remote_buffer_refs")) {
      for (const Json& entry : list(where, json, "remote_buffer_refs")) {
        object(where, entry, "entry of remote_buffer_refs");
        const ChannelType type = channelType(where, entry, "access_channel_type");
        const std::vector<int> ids = numbers(where, entry, "remote_buffer_ids");
        if (type == ChannelType::memory || type == ChannelType::port) {
          std::vector<int>& into = type == ChannelType::memory ? block.memoryBuffers : block.portBuffers;
          into.insert(into.end(), ids.begin(), ids.end());
        }
      }
    }
    const Json& ops = list(where, json, "ops");
    for (std::size_t at = 0; at < ops.size(); ++at) {
      block.ops.push_back(readOp(where.inside(RefKind::step, at), ops[at], true));
    }
    return block;
  }

  Operation readOp(const Where& where, const Json& json, bool mayNest) {
    if (++m_ops > kMaxAllOps) {
      refuse(where, "more than " + std::to_string(kMaxAllOps) + " operations", "split the plan", ErrorCode::limit);
    }
    object(where, json, "operation");
    const std::string name = text(where, json, "name");
    const auto type = parseOpType(name);
    if (!type) {
      refuse(where, inQuotes(name) + " is not an operation of the executor",
             name == "glre" ? "use glres, which stores to the switch too"
                            : "use put, get, copy, re, res, rre, rres, signal, wait, nop, … (manual: MSCCL++ plans)");
    }
    Operation op;
    op.type = *type;
    if (json.contains("channel_type")) {
      op.channelType = channelType(where, json, "channel_type");
    }
    if (json.contains("channel_ids")) {
      op.channels = numbers(where, json, "channel_ids");
    }
    if (json.contains("tbg_info")) {
      const Json& group = json["tbg_info"];
      object(where, group, "tbg_info");
      op.groupIndex = number(where, group, "tb_id");
      op.groupSize = number(where, group, "tbg_size");
    }
    op.sources = readRuns(where, json, "src_buff");
    op.destinations = readRuns(where, json, "dst_buff");
    op.barrier = numberOr(where, json, "barrier_id", -1);
    op.barrierBlocks = numberOr(where, json, "num_threadblocks", 0);
    if (json.contains("semaphore_ids")) {
      op.semaphores = numbers(where, json, "semaphore_ids");
    }
    if (*type == OpType::pipeline) {
      if (!mayNest) {
        refuse(where, "a pipeline inside a pipeline", "write its operations into the outer one");
      }
      const Json& iteration = require(where, json, "iter_context");
      object(where, iteration, "iter_context");
      op.unitBytes = number(where, iteration, "unit_size");
      op.unitChunks = number(where, iteration, "num_chunks");
      const Json& inner = list(where, json, "ops");
      for (std::size_t at = 0; at < inner.size(); ++at) {
        op.inner.push_back(readOp(where.inside(RefKind::step, at), inner[at], false));
      }
    }
    return op;
  }

  std::vector<ChunkRun> readRuns(const Where& where, const Json& json, const char* key) const {
    std::vector<ChunkRun> runs;
    if (!json.contains(key)) {
      return runs;
    }
    for (const Json& entry : list(where, json, key)) {
      object(where, entry, std::string("entry of ") + key);
      ChunkRun run;
      run.index = number(where, entry, "index");
      run.size = number(where, entry, "size");
      if (entry.contains("buffer_id")) {
        run.place = ChunkRun::Place::remote;
        run.id = number(where, entry, "buffer_id");
      } else if (entry.contains("switch_channel_id")) {
        run.place = ChunkRun::Place::switched;
        run.id = number(where, entry, "switch_channel_id");
      } else if (entry.contains("type")) {
        run.buffer = buffer(where, entry, "type");
      } else {
        refuse(where, std::string("an entry of ") + key + " names no buffer",
               "give type (local), buffer_id (remote) or switch_channel_id");
      }
      runs.push_back(run);
    }
    return runs;
  }

  const std::string& m_fileName;
  std::size_t m_ops = 0;
};

/// Line and column of a byte.
Place placeOf(std::string_view text, std::size_t at, const std::string& fileName) {
  Place place{.file = fileName, .line = 1, .column = 1};
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    place.line += text[i] == '\n' ? 1 : 0;
    place.column = text[i] == '\n' ? 1 : place.column + 1;
  }
  return place;
}

}  // namespace

bool looksLikePlan(std::string_view text) {
  return text.find("\"threadblocks\"") != std::string_view::npos && text.find("\"gpus\"") != std::string_view::npos;
}

Result<ExecutionPlan> readPlan(std::string_view text, const std::string& fileName) {
  if (text.size() > kMaxPlanBytes) {
    return Error{ErrorCode::limit,
                 "the plan has " + std::to_string(text.size() >> 20) + " MiB; at most " +
                     std::to_string(kMaxPlanBytes >> 20) + " MiB are read",
                 "split it",
                 {.file = fileName}};
  }
  // Deep nesting is refused before the parser recurses over the result.
  constexpr int kMaxDepth = 32;
  bool isTooDeep = false;
  const Json::parser_callback_t guard = [&](int depth, Json::parse_event_t, Json&) {
    isTooDeep = isTooDeep || depth > kMaxDepth;
    return !isTooDeep;
  };
  try {
    const Json json = Json::parse(text, guard);
    if (isTooDeep) {
      return Error{ErrorCode::limit,
                   "the JSON is nested too deep for an execution plan",
                   "give the file that the executor reads",
                   {.file = fileName}};
    }
    return PlanReader(fileName).read(json);
  } catch (const Json::parse_error& error) {
    return Error{ErrorCode::badInput, "the text is not JSON from here on", "repair it, or export the plan again",
                 placeOf(text, error.byte == 0 ? 0 : error.byte - 1, fileName)};
  } catch (const Json::out_of_range&) {
    return Error{ErrorCode::badInput,
                 "a number of the plan is beyond every range",
                 "repair it, or export the plan again",
                 {.file = fileName}};
  } catch (const Refusal& refusal) {
    return refusal.error;
  }
}

}  // namespace coppice::mscclpp
