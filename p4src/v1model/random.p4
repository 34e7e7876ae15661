// Reproducible pseudo-random numbers: the n-th draw of a seed is the same on every target, so a run can be
// repeated from its seed and two targets can be compared byte for byte. BMv2's own random() cannot be seeded.
// The mixing is the 32-bit finaliser of MurmurHash3 over a Weyl sequence.
// Hashes go through it too: a CRC is linear, so alone it would send path ids that differ in few bits to few of the
// paths, and a seed inside it would move all of them alike.
action draw(in bit<32> seed, in bit<32> n, out bit<32> value) {
    value = n * 0x9E3779B1 + seed;
    value = value ^ (value >> 16);
    value = value * 0x85EBCA6B;
    value = value ^ (value >> 13);
    value = value * 0xC2B2AE35;
    value = value ^ (value >> 16);
}
