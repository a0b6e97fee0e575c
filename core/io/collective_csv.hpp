// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"

namespace coppice::io {

/// A custom collective as CSV text: one row per chunk, `chunk,from,to`, where from and to are GPUs by id or rank,
/// separated by spaces. Several in `from` hold the same data. Empty lines, lines that begin with # and the heading
/// `chunk,from,to` are left out. Chunks are named as people like; all are of equal size. Errors: badInput with the
/// line: a row of other than three cells, an unknown GPU, a chunk or a GPU named twice, nothing to send.
Result<schedule::CollectiveTable> readCollectiveCsv(std::string_view text, const std::string& fileName,
                                                    const fabric::Fabric& fabric);

}  // namespace coppice::io
