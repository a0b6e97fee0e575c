// SPDX-License-Identifier: Apache-2.0
#include "base/bus_factor.hpp"

namespace coppice {

Rational busFactor(Collective collective, int ranks) {
  const Rational others(std::int64_t{ranks} - 1, ranks);
  switch (collective) {
    case Collective::allgather:
    case Collective::reduceScatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return others;
    case Collective::allreduce:
      return others * Rational(2);
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::custom:
      break;
  }
  return 1;
}

}  // namespace coppice
