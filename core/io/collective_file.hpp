// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"

/// Tables of shards, for collectives that have no name: what schedule::CollectiveTable::custom holds, as a person
/// writes it.
///
/// JSON (the first character is a brace or bracket):
///
///     {"format": "coppice-collective", "version": 1,
///      "shards": [{"share": "1/4", "sources": [0], "destinations": ["b0g1", 2], "combines": false},
///                 {"share": "3/4", "sources": "all", "destinations": [3], "combines": true}]}
///
/// CSV, with comma, semicolon or tab: a header row with these names in any order, then one shard a row. Ranks are
/// separated by blanks; lines that begin with # are ignored:
///
///     share,sources,destinations,combines
///     1/4,0,b0g1 2,no
///     3/4,all,3,yes
///
/// Chunks, all of one share, may be numbered instead, in JSON also without the object around the rows; a chunk that is
/// not reduced and has several ranks in `from` is the same bytes at each of them:
///
///     chunk,from,to,reduce
///     0,0 1,2 3,no
///     1,all,0,yes
///
///     [{"chunk": 0, "from": [0, 1], "to": [2, 3]}, {"chunk": 1, "from": "all", "to": [0], "reduce": true}]
///
/// A rank is a whole number, the id of a GPU, or in CSV a range such as 0-3; `all` is every rank. combines (reduce) is
/// true or false, also yes, no, 1 or 0 in CSV; where it is left out it is false. share is a fraction of the M bytes of
/// the collective; where no shard states one, all are equal.
namespace coppice::io {

inline constexpr std::size_t kMaxCollectiveShards = 1'000'000;

/// Errors: badInput with line, column and the shard (counted from 0) as element; limit.
[[nodiscard]] Result<schedule::CollectiveTable> readCollectiveTable(std::string_view text, const std::string& fileName,
                                                                    const fabric::Fabric& fabric);
/// What a collective has to do, from such a table or from a .schedule.json, which has its own.
/// @param ids of GPUs that a table may use; null = none: a program has ranks alone  Errors: as above; loadSchedule's.
[[nodiscard]] Result<schedule::CollectiveTable> readGoal(std::string_view text, const std::string& fileName, int ranks,
                                                         const fabric::Fabric* ids);

/// As CSV, with ranks as numbers and ranges. Read back it demands the same. Errors: io (the stream failed).
Outcome writeCollectiveTable(std::ostream& out, const schedule::CollectiveTable& table);

}  // namespace coppice::io
