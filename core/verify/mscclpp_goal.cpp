// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_goal.hpp"

#include <algorithm>
#include <string>

namespace coppice::verify {

namespace {

using mscclpp::Gpu;

constexpr int kAnything = -1;

}  // namespace

MscclppGoal::MscclppGoal(const mscclpp::ExecutionPlan& plan, const MscclppShape& shape, const MscclppLayout& layout,
                         MscclppValues& values, const MscclppCheckOptions& options, MscclppFaults& faults)
    : m_plan(plan),
      m_shape(shape),
      m_layout(layout),
      m_values(values),
      m_faults(faults),
      m_collective(collectiveOf(plan)),
      m_custom(options.custom),
      m_ranks(static_cast<int>(plan.gpus.size())),
      m_root(isRooted(m_collective) ? options.root : -1) {
  const auto wrong = [&](int rank, const std::string& text, const char* fix) {
    m_faults.rank(MscclppRule::chunks, rank, text, fix);
  };
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  for (const Gpu& gpu : plan.gpus) {
    inputs += gpu.hasNoShare ? 0 : gpu.inputChunks;
    outputs += gpu.hasNoShare ? 0 : gpu.outputChunks;
  }
  for (int rank = 0; rank < m_ranks; ++rank) {
    const Gpu& gpu = plan.gpus[rank];
    if (gpu.hasNoShare && (m_collective != Collective::allgather || gpu.inputChunks != 1) &&
        (m_collective != Collective::reduceScatter || gpu.outputChunks != 1)) {
      wrong(rank, "no_share is for one chunk of the input of an allgather, or of the output of a reduce_scatter",
            "leave it out");
    }
    const std::string has =
        "input_chunks " + std::to_string(gpu.inputChunks) + " and output_chunks " + std::to_string(gpu.outputChunks);
    switch (m_collective) {
      case Collective::allgather:
        if (gpu.outputChunks != inputs) {
          wrong(rank, has + ", and all inputs of the allgather have " + std::to_string(inputs) + " chunks",
                "give every rank an output for all inputs");
        }
        break;
      case Collective::reduceScatter:
        if (gpu.inputChunks != outputs) {
          wrong(rank, has + ", and all outputs of the reduce_scatter have " + std::to_string(outputs) + " chunks",
                "give every rank an input for all outputs");
        }
        break;
      case Collective::gather:
        if (gpu.outputChunks != inputs) {
          wrong(rank, has + ", and all inputs of the gather have " + std::to_string(inputs) + " chunks",
                "give every rank an output for all inputs, also those that get nothing: the executor wants one");
        }
        break;
      case Collective::scatter:
        if (gpu.inputChunks != outputs) {
          wrong(rank, has + ", and all outputs of the scatter have " + std::to_string(outputs) + " chunks",
                "give every rank an input for all outputs, also those whose data are not read: the executor wants one");
        }
        break;
      case Collective::alltoall:
        if (gpu.inputChunks != gpu.outputChunks || gpu.inputChunks % m_ranks != 0 ||
            gpu.inputChunks != plan.gpus[0].inputChunks) {
          wrong(rank, has + " do not hold equal shares of " + std::to_string(m_ranks) + " ranks",
                "give all ranks the same multiple of the number of ranks");
        }
        break;
      case Collective::allreduce:
      case Collective::broadcast:
      case Collective::reduce:
        if (gpu.inputChunks != gpu.outputChunks || gpu.inputChunks != plan.gpus[0].inputChunks) {
          wrong(rank,
                has + "; this collective has the same chunks everywhere, rank 0 has " +
                    std::to_string(plan.gpus[0].inputChunks),
                "give all ranks the same chunks");
        }
        break;
      default:
        m_collective = Collective::custom;
        break;
    }
  }
}

int MscclppGoal::sumOfAll(int launch, std::int64_t cell) {
  return m_values.sumOfInputs(launch, m_ranks, cell);
}

/// Without a sum, all sources of a shard hold the same data: any of them may be what is found.
int MscclppGoal::wantedOfShard(int rank, int launch, std::int64_t cell, int found) {
  const std::int64_t chunk = cell / m_shape.cellsPerChunk;
  for (const CustomShard& shard : m_custom) {
    if (chunk < shard.first || chunk >= shard.first + shard.count || shard.sources.empty() ||
        std::find(shard.destinations.begin(), shard.destinations.end(), rank) == shard.destinations.end()) {
      continue;
    }
    int value = m_values.input(launch, shard.sources.front(), cell);
    for (std::size_t i = 1; i < shard.sources.size(); ++i) {
      const int other = m_values.input(launch, shard.sources[i], cell);
      value = shard.combines ? m_values.add(value, other) : other == found ? found : value;
    }
    return value;
  }
  return kAnything;
}

int MscclppGoal::wanted(int rank, int launch, std::int64_t cell, int found) {
  const std::int64_t per = m_shape.cellsPerChunk;
  switch (m_collective) {
    case Collective::gather:
      if (rank != m_root) {
        return kAnything;
      }
      [[fallthrough]];
    case Collective::allgather: {
      int source = m_ranks - 1;
      while (m_layout.sliceOf(source) * per > cell) {
        --source;
      }
      return m_values.input(launch, source, cell - m_layout.sliceOf(source) * per);
    }
    case Collective::reduceScatter:
      return m_plan.gpus[rank].hasNoShare ? kAnything : sumOfAll(launch, m_layout.sliceOf(rank) * per + cell);
    case Collective::alltoall: {
      const std::int64_t share = m_plan.gpus[rank].inputChunks * per / m_ranks;
      return share == 0 ? kAnything
                        : m_values.input(launch, static_cast<int>(cell / share), rank * share + cell % share);
    }
    case Collective::allreduce:
      return sumOfAll(launch, cell);
    case Collective::broadcast:
      return m_values.input(launch, m_root, cell);
    case Collective::scatter:
      return m_values.input(launch, m_root, m_layout.sliceOf(rank) * per + cell);
    case Collective::reduce:
      return rank == m_root ? sumOfAll(launch, cell) : kAnything;
    default:
      return wantedOfShard(rank, launch, cell, found);
  }
}

void MscclppGoal::inferRoot(int launch, const std::vector<MscclppCell>& cells) {
  if (!isRooted(m_collective) || m_root >= 0) {
    return;
  }
  m_root = 0;
  if (m_collective == Collective::broadcast || m_collective == Collective::scatter) {
    // Whose data the others have.
    for (int rank = 0; rank < m_ranks; ++rank) {
      const auto& terms = m_values.terms(cells[m_layout.outputOf(rank)].value);
      if (terms.size() == 1 && MscclppValues::rankOf(terms[0].first) != rank) {
        m_root = MscclppValues::rankOf(terms[0].first);
        return;
      }
    }
    return;
  }
  if (m_collective == Collective::gather) {
    // Who has data of the first rank that is not its own, or of the second.
    for (int rank = 0; rank < m_ranks; ++rank) {
      const int source = rank == 0 && m_ranks > 1 ? 1 : 0;
      if (m_values.input(launch, source, 0) ==
          cells[m_layout.outputOf(rank) + m_layout.sliceOf(source) * m_shape.cellsPerChunk].value) {
        m_root = rank;
        return;
      }
    }
    return;
  }
  std::size_t most = 0;
  const int sum = sumOfAll(launch, 0);
  for (int rank = 0; rank < m_ranks; ++rank) {
    const int value = cells[m_layout.outputOf(rank)].value;
    const std::size_t terms = value == sum ? static_cast<std::size_t>(m_ranks) + 1 : m_values.terms(value).size();
    if (terms > most) {
      most = terms;
      m_root = rank;
    }
  }
}

std::string MscclppGoal::textOf(int value) const {
  if (value == MscclppValues::kUndefined) {
    return "nothing that was written";
  }
  const MscclppValues::Terms& terms = m_values.terms(value);
  std::string text;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < terms.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : " + ") + (terms[i].second > 1 ? std::to_string(terms[i].second) + " x " : std::string()) +
            "i[" + std::to_string(MscclppValues::cellOf(terms[i].first) / m_shape.cellsPerChunk) + "] of rank " +
            std::to_string(MscclppValues::rankOf(terms[i].first));
  }
  if (terms.size() > kShown) {
    text += " + " + std::to_string(terms.size() - kShown) + " more";
  }
  return text;
}

void MscclppGoal::check(int rank, int launch, const std::vector<MscclppCell>& cells) {
  inferRoot(launch, cells);
  const std::int64_t per = m_shape.cellsPerChunk;
  const std::int64_t outputs = m_plan.gpus[rank].outputChunks * per;
  for (std::int64_t cell = 0; cell < outputs && outcome().isJudged; ++cell) {
    const int found = cells[m_layout.outputOf(rank) + cell].value;
    const int want = wanted(rank, launch, cell, found);
    if (want == kAnything || want == found) {
      continue;
    }
    m_faults.rank(MscclppRule::result, rank,
                  "o[" + std::to_string(cell / per) + "] ends with " + textOf(found) + "; the " + m_plan.collective +
                      " wants " + textOf(want),
                  "see that each contribution arrives there once");
    cell += per - 1 - cell % per;
  }
  checkInput(rank, launch, cells);
}

/// Out of place, the caller's input is not the plan's to change.
void MscclppGoal::checkInput(int rank, int launch, const std::vector<MscclppCell>& cells) {
  if (m_plan.inPlace || !outcome().isJudged) {
    return;
  }
  const std::int64_t per = m_shape.cellsPerChunk;
  const std::int64_t inputs = m_plan.gpus[rank].inputChunks * per;
  for (std::int64_t cell = 0; cell < inputs; ++cell) {
    if (cells[m_layout.inputOf(rank) + cell].value != m_values.input(launch, rank, cell)) {
      m_faults.rank(MscclppRule::input, rank,
                    "i[" + std::to_string(cell / per) + "] is overwritten, and the plan is out of place",
                    "use scratch for what is on its way, or write \"inplace\": true");
      return;
    }
  }
}

}  // namespace coppice::verify
