#include "csaud_switch/load/header_moves.hpp"

#include <utility>

namespace csaud::sw {

namespace {

// The words of elements move from one to another, so all have the same ones in use.
void share_uses(Layout& layout) {
    for (const HeaderStack& stack : layout.stacks)
        for (std::uint32_t member = 0; member < stack.members; ++member)
            for (std::size_t f = 0; f < layout.headers[stack.header(0, member)].fields.size(); ++f) {
                bool used = false;
                bool written = false;
                for (std::uint32_t element = 0; element < stack.size; ++element) {
                    const Field& field = layout.headers[stack.header(element, member)].fields[f];
                    used |= field.used;
                    written |= field.written;
                }
                for (std::uint32_t element = 0; element < stack.size; ++element) {
                    Field& field = layout.headers[stack.header(element, member)].fields[f];
                    field.used = used;
                    field.written = written;
                }
            }
}

}  // namespace

void find_header_moves(Logic& logic) {
    share_uses(logic.layout);
    for (const Header& header : logic.layout.headers) {
        HeaderCode code;
        code.valid_slot = header.valid_slot;
        code.first_slot = header.first_slot;
        code.slot_count = header.slot_count;
        code.bytes = header.bytes;
        if (header.varbit) {
            code.varbit = true;
            code.varbit_slot = header.fields[*header.varbit].slot;
            code.varbit_offset = header.fields[*header.varbit].bit_offset;
            code.varbit_bytes = header.varbit_bytes;
        }
        for (const Field& field : header.fields) {
            const FieldMove move{field.slot, field.bit_offset, field.width};
            if (field.used) code.extract.push_back(move);
            if (field.written) code.deposit.push_back(move);
        }
        logic.headers.push_back(std::move(code));
    }
    for (const HeaderUnion& owner : logic.layout.unions)
        for (const std::uint32_t one : owner.headers)
            for (const std::uint32_t other : owner.headers)
                if (one != other)
                    logic.headers[one].siblings.push_back(logic.layout.headers[other].valid_slot);
}

}  // namespace csaud::sw
