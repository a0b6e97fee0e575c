// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <string>

#include "baselines/builder.hpp"

/// Schedules in which ranks exchange with partners at fixed distances, whatever the fabric.
namespace coppice::baselines {
namespace {

/// log2 of the ranks. Throws Failure where they are not a power of two.
int powerOfTwo(const Builder& builder, const std::string& name) {
  const auto n = static_cast<unsigned>(builder.ranks());
  if (!std::has_single_bit(n)) {
    builder.refuse(name + " needs a power of two of GPUs; the fabric has " + std::to_string(n),
                   "choose bruck or ring, or exclude GPUs");
  }
  return std::countr_zero(n);
}

/// Steps first .. first + n - 1. Pieces by rank where there is one shard, else shards.
void addHalving(Builder& builder, int n, int first) {
  const bool isOneShard = builder.collective() == Collective::allreduce;
  for (int t = 0; t < n; ++t) {
    const int bit = n - 1 - t;
    for (int rank = 0; rank < builder.ranks(); ++rank) {
      const int partner = rank ^ (1 << bit);
      const int begin = partner >> bit << bit;
      if (isOneShard) {
        builder.send(first + t, 0, begin, begin + (1 << bit), rank, partner, true);
      }
      for (int shard = begin; !isOneShard && shard < begin + (1 << bit); ++shard) {
        builder.send(first + t, shard, rank, partner, true);
      }
    }
  }
}

void addDoubling(Builder& builder, int n, int first) {
  const bool isOneShard = builder.collective() == Collective::allreduce;
  for (int bit = 0; bit < n; ++bit) {
    for (int rank = 0; rank < builder.ranks(); ++rank) {
      const int partner = rank ^ (1 << bit);
      const int begin = rank >> bit << bit;
      if (isOneShard) {
        builder.send(first + bit, 0, begin, begin + (1 << bit), rank, partner);
      }
      for (int shard = begin; !isOneShard && shard < begin + (1 << bit); ++shard) {
        builder.send(first + bit, shard, rank, partner);
      }
    }
  }
}

int log2Ceiling(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}

/// In step t of a broadcast, the first 2^t ranks from the root send to the next 2^t; a reduction runs backwards.
void addBinomial(Builder& builder) {
  const int n = builder.ranks();
  const int steps = log2Ceiling(n);
  const bool isReduction = builder.collective() == Collective::reduce;
  const auto rank = [&](int place) { return (builder.root() + place) % n; };
  for (int t = 0; t < steps; ++t) {
    const int reach = 1 << (isReduction ? steps - 1 - t : t);
    for (int place = 0; place < reach && place + reach < n; ++place) {
      const int near = rank(place);
      const int far = rank(place + reach);
      builder.send(t, 0, isReduction ? far : near, isReduction ? near : far, isReduction);
    }
  }
}

}  // namespace

void addRecursiveDoubling(Builder& builder) {
  switch (builder.collective()) {
    case Collective::allgather:
      addDoubling(builder, powerOfTwo(builder, "Recursive doubling"), 0);
      break;
    case Collective::allreduce:
      for (int bit = 0, n = powerOfTwo(builder, "Recursive doubling"); bit < n; ++bit) {
        for (int rank = 0; rank < builder.ranks(); ++rank) {
          builder.send(bit, 0, rank, rank ^ (1 << bit), true);
        }
      }
      break;
    default:
      addBinomial(builder);
  }
}

void addRecursiveHalving(Builder& builder) {
  const int n = powerOfTwo(builder, "Recursive halving");
  if (builder.collective() == Collective::allreduce) {
    builder.setDenominator(builder.ranks());
  }
  addHalving(builder, n, 0);
  if (builder.collective() == Collective::allreduce) {
    addDoubling(builder, n, n);
  }
}

void addBruck(Builder& builder) {
  const int n = builder.ranks();
  const bool isAllgather = builder.collective() == Collective::allgather;
  for (int t = 0, reach = 1; reach < n; ++t, reach *= 2) {
    for (int rank = 0; isAllgather && rank < n; ++rank) {
      for (int i = 0; i < std::min(reach, n - reach); ++i) {
        builder.send(t, (rank + i) % n, rank, (rank - reach + n) % n);
      }
    }
    // Data for the rank at distance d makes the hop 2^t if that bit of d is set.
    for (int source = 0; !isAllgather && source < n; ++source) {
      for (int distance = 1; distance < n; ++distance) {
        if ((distance & reach) != 0) {
          const int at = (source + (distance & (reach - 1))) % n;
          builder.send(t, std::int64_t{source} * n + (source + distance) % n, at, (at + reach) % n);
        }
      }
    }
  }
}

void addDirect(Builder& builder) {
  const int n = builder.ranks();
  const Collective collective = builder.collective();
  if (collective == Collective::allreduce) {
    builder.setDenominator(n);
  }
  for (int from = 0; from < n; ++from) {
    for (int hop = 1; hop < n; ++hop) {
      const int to = (from + hop) % n;
      switch (collective) {
        case Collective::allgather:
          builder.send(0, from, from, to);
          break;
        case Collective::reduceScatter:
          builder.send(0, to, from, to, true);
          break;
        case Collective::allreduce:
          builder.send(0, 0, to, to + 1, from, to, true);
          builder.send(1, 0, from, from + 1, from, to);
          break;
        case Collective::alltoall:
          builder.send(0, std::int64_t{from} * n + to, from, to);
          break;
        case Collective::broadcast:
        case Collective::scatter:
          if (from == builder.root()) {
            builder.send(0, collective == Collective::scatter ? to : 0, from, to);
          }
          break;
        case Collective::reduce:
        case Collective::gather:
          if (to == builder.root()) {
            builder.send(0, collective == Collective::gather ? from : 0, from, to, collective == Collective::reduce);
          }
          break;
        case Collective::custom:
          break;
      }
    }
  }
}

void addPairwise(Builder& builder) {
  const int n = builder.ranks();
  for (int hop = 1; hop < n; ++hop) {
    for (int from = 0; from < n; ++from) {
      const int to = (from + hop) % n;
      builder.send(hop - 1, std::int64_t{from} * n + to, from, to);
    }
  }
}

}  // namespace coppice::baselines
