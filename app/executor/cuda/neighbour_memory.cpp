// SPDX-License-Identifier: Apache-2.0
#include "cuda/neighbour_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "mpi/record.hpp"

namespace coppice::executor::cuda {
namespace {

/// What a process writes into each of its devices before the others look.
struct Token {
  std::uint64_t word = 0;
  ArenaTicket ticket = {};
};

/// An arena that others may map; 0 = it is not for them.
struct ArenaOffer {
  std::int64_t bytes = 0;
  ArenaTicket ticket = {};
};

bool isSet(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::atoi(text) != 0;
}

}  // namespace

// ---- who reaches whom

Outcome NeighbourMemory::offerTokens(std::string& offers, std::string& why) {
  for (int device = 0; device < m_gpus.count(); ++device) {
    Token token = {.word = randomWord()};
    if (Outcome reserved = m_gpus.reserve(device, Arena::control, kShareUnit); !reserved) {
      return reserved;
    }
    if (Outcome written =
            m_gpus.copyTo(device, m_gpus.memory(device, Arena::control).data, &token.word, sizeof(token.word));
        !written) {
      return written;
    }
    const auto ticket = m_gpus.offer(device, Arena::control);
    if (!ticket) {
      // Then no process can map it, and everything goes through host memory.
      offers.clear();
      why = ticket.error().message;
      return Done{};
    }
    token.ticket = *ticket;
    put(offers, token);
  }
  return Done{};
}

std::string NeighbourMemory::takeTokens(const Team& team, int device, const std::vector<std::string>& offers,
                                        std::vector<bool>& row) {
  std::string why;
  std::size_t at = 0;
  for (int process = 0; process < m_world.processes(); ++process) {
    const bool isNeighbour = team.areNeighbours(process, m_world.process());
    std::string_view rest = offers[process];
    for (std::size_t of = 0; of < team.seatsOf(process).size(); ++of, ++at) {
      Token token;
      if (process == m_world.process()) {
        row[at] = m_gpus.reach()[device][of];
        continue;
      }
      if (!isNeighbour) {
        continue;
      }
      if (!take(rest, token)) {
        why = why.empty() ? "process " + std::to_string(process) + " cannot share memory of its GPU" : why;
        continue;
      }
      const auto memory = m_gpus.take(device, token.ticket, kShareUnit);
      if (!memory) {
        why = why.empty() ? memory.error().message : why;
        continue;
      }
      std::uint64_t word = 0;
      const bool isRead = static_cast<bool>(m_gpus.copyFrom(device, &word, *memory, sizeof(word)));
      m_gpus.giveBack(device, *memory);
      row[at] = isRead && word == token.word;
      if (!row[at] && why.empty()) {
        why = "mapped memory of process " + std::to_string(process) + " does not show what it wrote";
      }
    }
  }
  return why;
}

Result<NeighbourMemory::Trial> NeighbourMemory::tryOut(const Team& team) {
  const auto forbidden = m_world.sum(isSet("COPPICE_EXEC_NO_PEER") ? 1 : 0);
  if (!forbidden) {
    return forbidden.error();
  }
  std::string offers;
  std::string why = *forbidden > 0 ? "COPPICE_EXEC_NO_PEER is set" : "";
  const Outcome offered = *forbidden > 0 ? Outcome(Done{}) : offerTokens(offers, why);
  if (const Outcome agreed = m_world.agree(offered); !agreed) {
    return agreed.error();
  }
  const auto all = m_world.gatherAll(offers);
  if (!all) {
    return all.error();
  }
  const std::size_t devices = team.rooms().size();
  std::string own;
  for (int device = 0; device < m_gpus.count(); ++device) {
    std::vector<bool> row(devices, false);
    std::string reason = takeTokens(team, device, *all, row);
    why = why.empty() ? std::move(reason) : why;
    for (const bool reaches : row) {
      own += reaches ? '1' : '0';
    }
  }
  // Also keeps what is offered until everybody has looked.
  const auto rows = m_world.gatherAll(own);
  const auto reasons = rows ? m_world.gatherAll(why) : rows;
  if (!reasons) {
    return reasons.error();
  }
  Trial trial;
  for (const std::string& cells : *rows) {
    for (std::size_t at = 0; at + devices <= cells.size() && devices > 0; at += devices) {
      std::vector<bool>& row = trial.reach.emplace_back();
      for (std::size_t cell = 0; cell < devices; ++cell) {
        row.push_back(cells[at + cell] == '1');
      }
    }
  }
  const auto said =
      std::find_if(reasons->begin(), reasons->end(), [](const std::string& text) { return !text.empty(); });
  trial.why = said == reasons->end() ? std::string() : *said;
  return trial;
}

// ---- memory of a plan

bool NeighbourMemory::areMapped(int a, int b) const {
  const Reach& reach = m_station.crew().reach;
  return reach[a][b] && reach[b][a];
}

Outcome NeighbourMemory::reserve(const Station::Layout& layout) {
  // Either all processes keep what others have mapped, or all map it again.
  const bool lacks = m_station.mustGrow(layout) || layout.sizes.shared() > m_shared.size();
  const auto lacking = m_world.sum(lacks || (m_view.arenas.empty() && m_gpus.count() > 0) ? 1 : 0);
  if (!lacking) {
    return lacking.error();
  }
  if (*lacking > 0) {
    unmap();
    if (Outcome unmapped = m_world.gate(); !unmapped) {
      return unmapped;
    }
  }
  if (Outcome agreed = m_world.agree(m_station.reserve(layout)); !agreed) {
    return agreed;
  }
  if (*lacking == 0) {
    return Done{};
  }
  if (Outcome exchanged = exchangeArenas(); !exchanged) {
    return exchanged;
  }
  return shareHostMemory(layout);
}

Outcome NeighbourMemory::offerArenas(std::string& offers) {
  const int devices = m_station.crew().devices();
  Outcome offered = Done{};
  for (int device = 0; device < m_gpus.count(); ++device) {
    bool isWanted = false;
    for (int other = 0; other < devices; ++other) {
      isWanted = isWanted || (!isOwn(other) && areMapped(other, m_station.place(device)));
    }
    for (int arena = 0; arena < kSharedArenas; ++arena) {
      ArenaOffer offer = {.bytes = isWanted ? m_gpus.memory(device, static_cast<Arena>(arena)).bytes : 0};
      if (offer.bytes > 0 && offered) {
        const auto ticket = m_gpus.offer(device, static_cast<Arena>(arena));
        offered = ticket ? Outcome(Done{}) : Outcome(ticket.error());
        offer.ticket = ticket ? *ticket : ArenaTicket();
      }
      put(offers, offer);
    }
  }
  return offered;
}

Outcome NeighbourMemory::takeArenas(std::string_view offers) {
  const int devices = m_station.crew().devices();
  Outcome taken = Done{};
  for (int device = 0; device < m_gpus.count(); ++device) {
    auto& row = m_view.arenas.emplace_back(static_cast<std::size_t>(devices));
    std::string_view rest = offers;
    for (int other = 0; other < devices; ++other) {
      for (unsigned char*& memory : row[other]) {
        memory = nullptr;
        ArenaOffer offer;
        take(rest, offer);
        if (isOwn(other) || !areMapped(m_station.place(device), other) || offer.bytes == 0 || !taken) {
          continue;
        }
        const auto mapped = m_gpus.take(device, offer.ticket, offer.bytes);
        taken = mapped ? Outcome(Done{}) : Outcome(mapped.error());
        memory = mapped ? *mapped : nullptr;
      }
    }
  }
  return taken;
}

Outcome NeighbourMemory::exchangeArenas() {
  std::string own;
  if (Outcome agreed = m_world.agree(offerArenas(own)); !agreed) {
    return agreed;
  }
  const auto all = m_world.gatherAll(own);
  if (!all) {
    return all.error();
  }
  std::string everything;
  for (const std::string& theirs : *all) {
    everything += theirs;
  }
  return m_world.agree(takeArenas(everything));
}

Outcome NeighbourMemory::shareHostMemory(const Station::Layout& layout) {
  const auto wanted = m_world.sum(layout.sizes.shared() > m_shared.size() ? 1 : 0);
  if (!wanted || *wanted == 0) {
    return wanted ? Outcome(Done{}) : Outcome(wanted.error());
  }
  unpin();
  m_shared = {};
  m_view.shared = nullptr;
  auto segment = m_world.share(std::max<std::int64_t>(layout.sizes.shared(), 1));
  if (!segment) {
    return segment.error();
  }
  // A segment without an owner needs no unpinning.
  Outcome pinned = m_gpus.count() > 0 ? m_gpus.pin(segment->data(), segment->size()) : Outcome(Done{});
  if (pinned) {
    m_shared = std::move(*segment);
    m_view.shared = reinterpret_cast<unsigned char*>(m_shared.data());
  }
  return m_world.agree(pinned);
}

void NeighbourMemory::clearWords(const Station::Layout& layout) {
  if (layout.sizes.usesShared && m_world.seat() == 0) {
    std::memset(m_shared.data(), 0, static_cast<std::size_t>(layout.sizes.control));
  }
}

void NeighbourMemory::unmap() {
  for (std::size_t device = 0; device < m_view.arenas.size(); ++device) {
    for (auto& arenas : m_view.arenas[device]) {
      for (unsigned char* memory : arenas) {
        if (memory != nullptr) {
          m_gpus.giveBack(static_cast<int>(device), memory);
        }
      }
    }
  }
  m_view.arenas.clear();
}

void NeighbourMemory::unpin() {
  if (m_shared.data() != nullptr) {
    m_gpus.unpin(m_shared.data());
  }
}

}  // namespace coppice::executor::cuda
