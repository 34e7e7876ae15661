// What expressions do to values.
#pragma once

#include <cstdint>

namespace csaud::sw {

enum class Op : std::uint8_t {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kShl,
    kShr,
    kAnd,
    kOr,
    kXor,
    kNeg,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kBoth,      // boolean and
    kEither,    // boolean or
    kNot,       // boolean not
    kToBool,    // x != 0
    kTwoComp,   // x as a two's complement number of b bits
    kUSat,      // clamp to an unsigned number of b bits
    kSat,       // clamp to a signed number of b bits
    kSelect,    // a ? b : c
    kSigned,    // load a field of b bits with its sign
    kWide,      // load a field of two words
    kLoad,      // word b + a * stride, when a is less than a count; c holds both
    kLoadWide,  // two words likewise
    kSameBits,  // fields of variable length whose words begin at a and b are equal
    // The same on numbers of 128 bits without a sign; above 126 bits the others take the top bit for one.
    kShrU,
    kLtU,
    kLeU,
};

}  // namespace csaud::sw
