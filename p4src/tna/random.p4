// Hashes that spread. A CRC is linear: alone it would send path ids that differ in few bits to few of the paths, and
// a seed inside it would move all of them alike. So two of different polynomials are added, the seed in one of them,
// and the upper half of the sum is taken, into which the lower half has carried. Tofino has no multiplication.
// Its random numbers have no seed: runs on it are not repeatable draw by draw.
//
// The chip's hash units also put an index together of parts of fields, where its arithmetic could not without tying
// all of these fields to one place: an identity hash.
#define SECOND_CRC CRCPolynomial<bit<32>>(32w0x1EDC6F41, true, false, false, 32w0xFFFFFFFF, 32w0xFFFFFFFF)
