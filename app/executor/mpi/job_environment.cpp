// SPDX-License-Identifier: Apache-2.0
#include "mpi/job_environment.hpp"

#include <cstdlib>
#include <optional>

#include "base/numbers.hpp"

namespace coppice::executor {
namespace {

std::optional<int> number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) {
    return std::nullopt;
  }
  const auto value = numberIn<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

struct Launcher {
  const char* size;
  const char* rank;
};
// Open MPI's mpirun; MPICH's and Intel's, and srun --mpi=pmi2; srun --mpi=pmix, which leaves sizes to Slurm's own.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"}, {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}};

}  // namespace

int jobProcesses() {
  for (const Launcher& launcher : kLaunchers) {
    const auto size = number(launcher.size);
    if (size && *size > 0 && number(launcher.rank)) {
      return *size;
    }
  }
  return 0;
}

int jobProcess() {
  for (const Launcher& launcher : kLaunchers) {
    const auto size = number(launcher.size);
    const auto rank = number(launcher.rank);
    if (size && *size > 0 && rank) {
      return *rank;
    }
  }
  return 0;
}

}  // namespace coppice::executor
