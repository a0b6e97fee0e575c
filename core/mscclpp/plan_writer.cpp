// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "mscclpp/plan_json.hpp"

namespace coppice::mscclpp {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string letterOf(Buffer buffer) {
  return {program::letter(buffer)};
}

OrderedJson runJson(const ChunkRun& run) {
  OrderedJson json;
  switch (run.place) {
    case ChunkRun::Place::local:
      json["type"] = letterOf(run.buffer);
      break;
    case ChunkRun::Place::remote:
      json["buffer_id"] = run.id;
      break;
    case ChunkRun::Place::switched:
      json["switch_channel_id"] = run.id;
      break;
  }
  json["index"] = run.index;
  json["size"] = run.size;
  return json;
}

OrderedJson opJson(const Operation& op) {
  OrderedJson json = {{"name", toString(op.type)}};
  for (const auto& [key, runs] : {std::pair("src_buff", &op.sources), std::pair("dst_buff", &op.destinations)}) {
    for (const ChunkRun& run : *runs) {
      json[key].push_back(runJson(run));
    }
  }
  if (!op.channels.empty()) {
    json["channel_ids"] = op.channels;
  }
  if (op.channelType != ChannelType::none) {
    json["channel_type"] = toString(op.channelType);
  }
  if (!op.semaphores.empty()) {
    json["semaphore_ids"] = op.semaphores;
  }
  if (op.type == OpType::barrier) {
    json["barrier_id"] = op.barrier;
    json["num_threadblocks"] = op.barrierBlocks;
  }
  if (op.groupSize != 1 || op.groupIndex != 0) {
    json["tbg_info"] = {{"tb_id", op.groupIndex}, {"tbg_size", op.groupSize}};
  }
  if (op.type == OpType::pipeline) {
    json["iter_context"] = {{"unit_size", op.unitBytes}, {"num_chunks", op.unitChunks}};
    json["ops"] = OrderedJson::array();
    for (const Operation& inner : op.inner) {
      json["ops"].push_back(opJson(inner));
    }
  }
  return json;
}

OrderedJson channelsJson(const Gpu& gpu) {
  OrderedJson json = OrderedJson::array();
  if (!gpu.memoryPeers.empty()) {
    json.push_back({{"channel_type", "memory"}, {"connected_to", gpu.memoryPeers}});
  }
  if (!gpu.portPeers.empty()) {
    json.push_back({{"channel_type", "port"}, {"connected_to", gpu.portPeers}});
  }
  for (const SwitchGroup& group : gpu.switchGroups) {
    json.push_back({{"channel_type", "switch"},
                    {"buffer_type", letterOf(group.buffer)},
                    {"rank_groups", OrderedJson::array({{{"size", group.size}, {"ranks", group.ranks}}})}});
  }
  return json;
}

OrderedJson buffersJson(const Gpu& gpu) {
  OrderedJson json = OrderedJson::array();
  for (const RemoteBuffer& remote : gpu.remoteBuffers) {
    OrderedJson access = OrderedJson::array();
    if (remote.byMemory) {
      access.push_back("memory");
    }
    if (remote.byPort) {
      access.push_back("port");
    }
    json.push_back({{"rank", remote.rank}, {"type", letterOf(remote.buffer)}, {"access_channel_types", access}});
  }
  return json;
}

OrderedJson blockChannelsJson(const ThreadBlock& block) {
  OrderedJson json = OrderedJson::array();
  const auto add = [&](const char* type, const std::vector<int>& ids) {
    if (!ids.empty()) {
      json.push_back({{"channel_type", type}, {"channel_ids", ids}});
    }
  };
  add("memory", block.memoryChannels);
  add("port", block.portChannels);
  add("switch", block.switchGroups);
  return json;
}

OrderedJson blockBuffersJson(const ThreadBlock& block) {
  OrderedJson json = OrderedJson::array();
  const auto add = [&](const char* type, const std::vector<int>& ids) {
    if (!ids.empty()) {
      json.push_back({{"access_channel_type", type}, {"remote_buffer_ids", ids}});
    }
  };
  add("memory", block.memoryBuffers);
  add("port", block.portBuffers);
  return json;
}

void writeBlock(std::ostream& out, const ThreadBlock& block, std::size_t id) {
  out << "        {\"id\": " << id << ", \"channels\": " << blockChannelsJson(block).dump()
      << ", \"remote_buffer_refs\": " << blockBuffersJson(block).dump() << ", \"ops\": [";
  const char* before = "\n          ";
  for (const Operation& op : block.ops) {
    out << before << opJson(op).dump();
    before = ",\n          ";
  }
  out << "]}";
}

}  // namespace

void writePlan(std::ostream& out, const ExecutionPlan& plan) {
  const auto quoted = [](const std::string& text) {
    return OrderedJson(text).dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  };
  out << "{\n  \"name\": " << quoted(plan.name) << ",\n  \"collective\": " << quoted(plan.collective)
      << ",\n  \"protocol\": " << quoted(plan.protocol) << ",\n  \"inplace\": " << (plan.inPlace ? "true" : "false")
      << ",\n  \"reuse_resources\": " << (plan.reusesResources ? "true" : "false")
      << ",\n  \"use_double_scratch_buffer\": " << (plan.doublesScratch ? "true" : "false")
      << ",\n  \"num_threads_per_block\": " << plan.threadsPerBlock << ",\n  \"buffer_alignment\": " << plan.alignment
      << ",\n  \"min_message_size\": " << plan.minBytes << ",\n  \"max_message_size\": " << plan.maxBytes
      << ",\n  \"gpus\": [";
  for (std::size_t rank = 0; rank < plan.gpus.size(); ++rank) {
    const Gpu& gpu = plan.gpus[rank];
    out << (rank == 0 ? "" : ",") << "\n    {\"id\": " << rank << ", \"input_chunks\": " << gpu.inputChunks
        << ", \"output_chunks\": " << gpu.outputChunks << ", \"scratch_chunks\": " << gpu.scratchChunks
        << (gpu.hasNoShare ? ", \"no_share\": true" : "")
        << ",\n      \"channels\": " << channelsJson(gpu).dump()
        << ",\n      \"remote_buffers\": " << buffersJson(gpu).dump() << ",\n      \"semaphores\": [";
    for (std::size_t i = 0; i < gpu.semaphores.size(); ++i) {
      out << (i == 0 ? "" : ", ") << "{\"init_value\": " << gpu.semaphores[i] << "}";
    }
    out << "],\n      \"threadblocks\": [";
    for (std::size_t id = 0; id < gpu.blocks.size(); ++id) {
      out << (id == 0 ? "\n" : ",\n");
      writeBlock(out, gpu.blocks[id], id);
    }
    out << "]}";
  }
  out << "\n  ]\n}\n";
}

std::string writePlan(const ExecutionPlan& plan) {
  std::ostringstream out;
  writePlan(out, plan);
  return std::move(out).str();
}

}  // namespace coppice::mscclpp
