// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstddef>
#include <ostream>

#include "program/msccl_xml.hpp"

namespace coppice::program {
namespace {

constexpr std::size_t kLongestName = 63;

std::string cleanName(std::string_view name) {
  std::string clean(name.substr(0, kLongestName));
  for (char& c : clean) {
    const bool printable = c >= ' ' && c <= '~';
    const bool markup = c == '"' || c == '\'' || c == '<' || c == '>' || c == '&';
    if (!printable || markup) {
      c = '_';
    }
  }
  return clean == "2D" ? "2D_" : clean;
}

std::string collectiveSpelling(const Program& program, Runtime runtime) {
  if (!program.collectiveText.empty()) {
    return cleanName(program.collectiveText);
  }
  if (program.collective == Collective::reduceScatter) {
    return runtime == Runtime::msccl ? "reduce_scatter" : "reducescatter";
  }
  return std::string(coppice::toString(program.collective));
}

/// Appends to a text without streams: files reach tens of megabytes.
class Text {
public:
  explicit Text(std::string& out) : m_out(out) {}

  Text& raw(std::string_view text) {
    m_out += text;
    return *this;
  }
  Text& attribute(std::string_view key, std::string_view value) {
    m_out += ' ';
    m_out += key;
    m_out += "=\"";
    m_out += value;
    m_out += '"';
    return *this;
  }
  Text& attribute(std::string_view key, std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return attribute(key, std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  Text& attribute(std::string_view key, Buffer buffer) {
    const char name = letter(buffer);
    return attribute(key, std::string_view(&name, 1));
  }

private:
  std::string& m_out;
};

void writeHead(std::string& out, const Program& program, Runtime runtime) {
  Text(out)
      .raw("<algo")
      .attribute("name", cleanName(program.name))
      .attribute("proto", toString(program.protocol))
      .attribute("nchannels", program.channels)
      .attribute("nchunksperloop", program.chunksPerLoop)
      .attribute("ngpus", static_cast<std::int64_t>(program.ranks.size()))
      .attribute("coll", collectiveSpelling(program, runtime))
      .attribute("inplace", program.inPlace ? 1 : 0)
      .attribute("outofplace", program.outOfPlace ? 1 : 0)
      .attribute("minBytes", program.minBytes)
      .attribute("maxBytes", program.maxBytes)
      .raw(">\n");
}

void writeStep(std::string& out, std::size_t index, const Step& step) {
  Text(out)
      .raw("      <step")
      .attribute("s", static_cast<std::int64_t>(index))
      .attribute("type", toString(step.type))
      .attribute("srcbuf", step.src.buffer)
      .attribute("srcoff", step.src.offset)
      .attribute("dstbuf", step.dst.buffer)
      .attribute("dstoff", step.dst.offset)
      .attribute("cnt", step.count)
      .attribute("depid", step.dependsOnTb)
      .attribute("deps", step.dependsOnStep)
      .attribute("hasdep", step.hasDependent ? 1 : 0)
      .raw("/>\n");
}

void writeRank(std::string& out, std::size_t rank, const RankProgram& program) {
  Text(out)
      .raw("  <gpu")
      .attribute("id", static_cast<std::int64_t>(rank))
      .attribute("i_chunks", program.inputChunks)
      .attribute("o_chunks", program.outputChunks)
      .attribute("s_chunks", program.scratchChunks)
      .raw(">\n");
  for (std::size_t tb = 0; tb < program.threadBlocks.size(); ++tb) {
    const ThreadBlock& block = program.threadBlocks[tb];
    Text(out)
        .raw("    <tb")
        .attribute("id", static_cast<std::int64_t>(tb))
        .attribute("send", block.sendPeer)
        .attribute("recv", block.recvPeer)
        .attribute("chan", block.channel)
        .raw(">\n");
    for (std::size_t s = 0; s < block.steps.size(); ++s) {
      writeStep(out, s, block.steps[s]);
    }
    out += "    </tb>\n";
  }
  out += "  </gpu>\n";
}

}  // namespace

std::string writeMscclXml(const Program& program, Runtime runtime) {
  std::string out;
  writeHead(out, program, runtime);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    writeRank(out, rank, program.ranks[rank]);
  }
  out += "</algo>\n";
  return out;
}

void writeMscclXml(std::ostream& out, const Program& program, Runtime runtime) {
  std::string part;
  writeHead(part, program, runtime);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    writeRank(part, rank, program.ranks[rank]);
    out << part;
    part.clear();
  }
  out << part << "</algo>\n";
}

}  // namespace coppice::program
