// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cuda/progress.hpp"
#include "cuda/wiring.hpp"
#include "engine/backend.hpp"
#include "engine/buffers.hpp"

/// The CUDA backend without a GPU: packs, places and wires as it does, and runs the same interpreter on host threads.
namespace coppice::executor::cuda::test {

struct HostOptions {
  unsigned lanes = 1;
  int strands = 1;
  /// Pretended devices and which of them reach each other; ranks are spread over them.
  Reach reach = {{true}};
  /// Threads of a busy machine may stand still for long without being stuck.
  double deadlockSeconds = 100;
};

class HostBackend : public Backend {
public:
  explicit HostBackend(HostOptions options);

  BackendInfo info() const override { return {.name = "cuda on host threads"}; }
  MemoryNeed need(const Plan& /*plan*/, const Geometry& /*geometry*/) const override { return {}; }
  std::int64_t pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t /*bytes*/) const override {
    return 4096;
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override;
  RankBuffers buffers(int rank) override;
  std::int64_t damagedGuards() override;
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override;
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override;
  double measureMemory(std::stop_token /*stop*/) override { return 0; }

  [[nodiscard]] const PackedPlan& packed() const { return m_packed; }
  [[nodiscard]] std::size_t threads() const;

private:
  void launch(const RunView& view);
  [[nodiscard]] ProgressWords progressNow();

  HostOptions m_options;
  const Plan* m_plan = nullptr;
  Geometry m_geometry;
  Script m_script;
  PackedPlan m_packed;
  Placement m_placement;
  std::vector<Grid> m_grids;
  std::vector<std::vector<std::byte>> m_rankMemory;
  std::vector<BufferLayout> m_layouts;
  std::vector<std::vector<Word>> m_control;         ///< by place
  std::vector<std::vector<unsigned char>> m_slots;  ///< by place
  ProgressWords m_progress;
  std::vector<std::vector<TraceSlot>> m_trace;
  Word m_tilesBefore = 0;
  Word m_abort = 0;
};

}  // namespace coppice::executor::cuda::test
