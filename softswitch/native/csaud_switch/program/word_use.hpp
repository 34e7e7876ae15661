// Which words of a packet the parts of a program read, and which they write.
//
// A header that is valid has all fields that the program uses: they were extracted, set to zero, or copied
// from one that had. So whatever reads fields of valid headers only (the deparser, copies of headers,
// checksums and hashes) reads their validity, which is always cleared, and nothing else for our purpose. What
// a queued packet has to keep is another matter: there, they read fields as well (whole_headers), and a copy
// writes all of a header, since nothing of that kind looks at one that it has made invalid.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

using WordList = std::vector<std::uint32_t>;

void add_words(WordList& words, std::uint32_t first, std::uint32_t count);
void add_field(WordList& words, const FieldRef& field);

class WordUse {
  public:
    WordUse(const Program& program, bool whole_headers);

    // False: of something it is not known.
    bool understood() const { return understood_; }
    void not_understood() { understood_ = false; }
    bool whole_headers() const { return whole_headers_; }

    void read(const Expression& expression, WordList& reads);
    void read_calculation(const Calculation& calculation, WordList& reads) const;
    void read_checksum(const Checksum& checksum, WordList& reads);
    void read_table(const Table& table, WordList& reads) const;
    // Where it goes on is the caller's matter.
    void primitive(const Primitive& p, WordList& reads, WordList& writes);

  private:
    void add_header(std::uint32_t header, WordList& words) const;
    bool is_below(const Expression& index, std::uint64_t size) const;

    const Program& program_;
    const Logic& logic_;
    bool whole_headers_;
    bool understood_ = true;
    std::vector<unsigned> width_;  // of the field whose first word it is
};

}  // namespace csaud::sw
