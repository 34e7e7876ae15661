// Hashes that spread. A CRC is linear: alone it would send path ids that differ in few bits to few of the paths, and
// a seed inside it would move all of them alike. So two of different polynomials are added, the seed in one of them,
// and the sum is folded by a third: each bit of the index is the parity of about half of the sum's, with all of their
// carries. A part of the sum would do worse: its seed counts by one carry only, which two switches whose seeds agree in
// one bit have in common three times out of four. Tofino has no multiplication.
// Its random numbers have no seed: runs on it are not repeatable draw by draw.
//
// The chip's hash units also put an index together of parts of fields, where its arithmetic could not without tying
// all of these fields to one place: an identity hash.
#define FOLDING_CRC CRCPolynomial<bit<16>>(16w0x8BB7, true, false, false, 16w0, 16w0)   // that of T10-DIF: it is dense
#define SECOND_CRC CRCPolynomial<bit<32>>(32w0x1EDC6F41, true, false, false, 32w0xFFFFFFFF, 32w0xFFFFFFFF)

// What spray modes choose by. Ahead of all else, while nothing yet can end a packet's way: a table cannot be in an
// earlier stage than one that can, and a mode that has to wait for its hash costs the whole pipeline stages.
control FlowHashes(in headers_t hdr, inout metadata_t meta) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) tuple_a;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, SECOND_CRC) tuple_b;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) path_a;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, SECOND_CRC) path_b;
    Hash<bit<12>>(HashAlgorithm_t.CRC16) flow_slot;

    // One a table: no more than 32 bits come out of the hash units for one.
    action hash_tuple_a() {
        meta.hash_a = tuple_a.get({ meta.flow.route_key, meta.flow.src_key, meta.flow.protocol,
                                    meta.flow.l4_src, meta.flow.l4_dst });
    }

    action hash_tuple_b() {
        meta.hash_b = tuple_b.get({ meta.flow.route_key, meta.flow.src_key, meta.flow.protocol,
                                    meta.flow.l4_src, meta.flow.l4_dst });
    }

    action hash_path_a() {
        meta.path_hash_a = path_a.get({ meta.flow.route_key, meta.flow.src_key, meta.path_id });
    }

    action hash_path_b() {
        meta.path_hash_b = path_b.get({ meta.flow.route_key, meta.flow.src_key, meta.path_id });
    }

    action hash_flow() {
        meta.slot = flow_slot.get({ meta.flow.route_key, meta.flow.src_key, meta.flow.protocol,
                                    meta.flow.l4_dst, meta.source });
    }

    apply {
        // The source port of a CSA packet spells its path_id, not its flow.
        if (hdr.csa.isValid()) {
            meta.path_id = hdr.csa.path_id;
        } else {
            meta.source = meta.flow.l4_src;
        }
        hash_tuple_a();
        hash_tuple_b();
        hash_path_a();
        hash_path_b();
        hash_flow();
    }
}
