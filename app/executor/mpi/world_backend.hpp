// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.hpp"
#include "mpi/mpi_world.hpp"

namespace coppice::executor {

/// What backends of several processes have in common.
class WorldBackend : public Backend {
public:
  explicit WorldBackend(std::unique_ptr<MpiWorld> world) : m_world(std::move(world)) {}

  int processes() const override { return m_world->processes(); }
  int process() const override { return m_world->process(); }
  std::optional<program::RunExit> brokenBy() const override { return m_world->brokenBy(); }
  Result<std::int64_t> sum(std::int64_t value) override { return m_world->sum(value); }
  Result<double> max(double value) override { return m_world->max(value); }
  Outcome barrier() override { return m_world->gate(); }
  Result<std::vector<std::string>> gather(const std::string& lines) override { return m_world->gather(lines); }

protected:
  /// Those that are there, not those that they are made to count as.
  [[nodiscard]] int hosts() const { return m_world->isForced() ? 1 : m_world->hosts(); }
  /// "8 processes on 2 hosts".
  [[nodiscard]] std::string worldText() const;
  [[nodiscard]] std::map<std::string, std::string> worldFacts() const;
  /// Where each process runs one rank, on CPUs.
  [[nodiscard]] BackendInfo worldInfo(int workers) const;
  /// Errors: internal (a rank was lost in an earlier run).
  [[nodiscard]] Outcome requireWhole() const;
  /// A process for each rank. Errors: unavailable, those of requireWhole.
  [[nodiscard]] Outcome requireProcesses(int ranks) const;

  std::unique_ptr<MpiWorld> m_world;
};

}  // namespace coppice::executor
