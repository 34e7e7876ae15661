// Where the fields of a program lie: in the packet, and in the flat array of words that holds them while the
// packet is processed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

struct Field {
    std::string name;
    unsigned width = 0;  // bits
    bool is_signed = false;
    std::uint32_t slot = 0;        // first word
    std::uint32_t bit_offset = 0;  // from the header's first bit
    // What the program does with it. A field that it never touches is carried along with the header's bytes.
    bool used = false;
    bool written = false;
    // Of variable length; two words: how many bits it has, and where in the packet's buffer, in bits, they
    // are.
    bool varbit = false;
    bool opaque = false;  // too wide for words: it only travels with its header's bytes
};

struct Header {
    std::string name;
    std::string type;
    bool metadata = false;
    std::uint32_t valid_slot = 0;  // a word that is 1 while the header is valid
    std::uint32_t first_slot = 0;
    std::uint32_t slot_count = 0;
    std::uint32_t bytes = 0;              // without its field of variable length
    std::optional<std::uint32_t> varbit;  // which field that is
    std::uint32_t varbit_bytes = 0;       // of that field, at most
    std::vector<Field> fields;

    std::optional<std::uint32_t> find(const std::string& field) const {
        for (std::uint32_t i = 0; i < fields.size(); ++i)
            if (fields[i].name == field) return i;
        return std::nullopt;
    }
};

// One field as an operand: a header's validity bit is one like any other.
struct FieldRef {
    std::uint32_t header = 0;
    std::uint32_t slot = 0;
    unsigned width = 0;
    bool is_signed = false;
};

// A stack of headers, or of unions, which are several headers an element. Elements lie one after the other in
// the words, each with its members in order; so do their validity words.
struct HeaderStack {
    std::string name;
    std::uint32_t size = 0;     // elements
    std::uint32_t members = 1;  // headers an element
    bool of_unions = false;
    std::uint32_t stride = 0;            // words of an element
    std::uint32_t next_slot = 0;         // a word: the element that the parser fills next
    std::vector<std::uint32_t> headers;  // element after element

    std::uint32_t header(std::uint32_t element, std::uint32_t member) const {
        return headers[element * members + member];
    }
};

// At most one of these headers is valid.
struct HeaderUnion {
    std::string name;
    std::vector<std::uint32_t> headers;
};

struct Layout {
    std::vector<Header> headers;
    std::vector<HeaderStack> stacks;
    std::vector<HeaderUnion> unions;
    std::unordered_map<std::string, std::uint32_t> by_name;
    std::map<std::string, FieldRef> aliases;  // the target's names: "intrinsic_metadata.priority"
    std::uint32_t slot_count = 0;
    std::uint32_t header_bytes = 0;  // all headers of a packet together
};

// The fields of a header that are moved between packet and words.
struct FieldMove {
    std::uint32_t slot;
    std::uint32_t bit_offset;
    unsigned width;
};

struct HeaderCode {
    std::uint32_t valid_slot = 0;
    std::uint32_t first_slot = 0;
    std::uint32_t slot_count = 0;
    std::uint32_t bytes = 0;
    std::vector<FieldMove> extract;       // fields that the program uses
    std::vector<FieldMove> deposit;       // fields that it writes
    std::vector<std::uint32_t> siblings;  // validity words of the other headers of its union

    // A field of variable length; all the header's other fields are extracted and deposited then.
    bool varbit = false;
    std::uint32_t varbit_slot = 0;
    std::uint32_t varbit_offset = 0;  // bits from the header's first; what lies behind moves with its length
    std::uint32_t varbit_bytes = 0;   // at most
};

// Fields of the target that are set or read by the switch itself; absent in a program that lacks them.
struct TargetFields {
    std::optional<FieldRef> ingress_port, egress_spec, egress_port, instance_type, packet_length;
    std::optional<FieldRef> enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth, qid;
    std::optional<FieldRef> ingress_timestamp, egress_timestamp, mcast_grp, egress_rid;
    std::optional<FieldRef> checksum_error, parser_error, priority;
    bool queueing = false;  // all four of enq_* and deq_* are there
};

}  // namespace csaud::sw
