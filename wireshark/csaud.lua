-- Wireshark dissector of CSA-UD: collectives over RoCEv2 Unreliable Datagram. See docs/dissector.md.
--
-- Two ways lead here. On the RoCE port Wireshark's own dissector shows BTH and DETH and offers the rest to
-- the heuristics of "infiniband.payload". A packet that a switch trimmed comes to a UDP port of its own,
-- without the iCRC that Wireshark's dissector would take off its end; there BTH and DETH are shown here.

local csaud = Proto("csaud", "CSA-UD")

local MAGIC, VERSION = 0xC5A, 1
local OPCODE_UD_SEND_ONLY = 0x64
local QP_GENERAL_SERVICES = 1
local LOSS_PORT = 49791
local IPV4_BYTES, UDP_BYTES = 20, 8 -- IPv4 without options
local BTH_BYTES, DETH_BYTES, CSA_BYTES, CONTROL_BYTES, ICRC_BYTES = 12, 8, 32, 24, 4
local TAG_BYTES = 8
local MOST_PACKETS = 512 -- of a message
local MOST_NOTE = 200 -- bytes
local CUT = "cut short by the capture"

local DATA, LOSS, PROBE, ABORT, PARITY = 0, 3, 5, 9, 10
local MOST_ROWS, MOST_COVERED = 8, 128 -- of PARITY
local PING = 9 -- reason
local TYPES = {
    [0] = "DATA", "ACK", "STATE", "LOSS", "CREDIT", "PROBE", "PROBE_RSP", "PATH_FEEDBACK", "STEP_DONE",
    "ABORT", "PARITY",
}
local SPRAYS = {
    [0] = "fabric's policy", "ECMP", "entropy", "random", "round robin", "weighted", "least queue",
    "host-directed", "flowlet",
}
local REASONS = {
    [0] = "none", "LOSS", "path gap", "interval", "PROBE", "finished already", "NOT_READY", "NOT_STARTED",
    "SENT", "ping", "pong", "peer dead", "peer gave up", "GONE",
}
local RTX, TRIMMED, ECN_ECHO = 0x01, 0x20, 0x40

-- --- fields; the names in filters are these, offsets are where dissect_* adds them

local f = {}

f.magic = ProtoField.uint16("csaud.magic", "Magic", base.HEX, nil, 0xFFF0)
f.version = ProtoField.uint16("csaud.version", "Version", base.DEC, nil, 0x000F)
f.type = ProtoField.uint8("csaud.type", "Type", base.DEC, TYPES)
f.flags = ProtoField.uint8("csaud.flags", "Flags", base.HEX)
f.spray = ProtoField.uint8("csaud.spray", "Spray mode asked", base.DEC, SPRAYS, 0xF0)
f.cls = ProtoField.uint8("csaud.cls", "Class of criticality", base.DEC, nil, 0x0E)
f.ordered = ProtoField.bool("csaud.ordered", "Ordered (path held to be FIFO)", 8, nil, 0x01)
f.attempt = ProtoField.uint8("csaud.attempt", "Attempt", base.DEC)
f.epoch = ProtoField.uint16("csaud.epoch", "World epoch", base.DEC)
f.comm = ProtoField.uint16("csaud.comm", "Communicator", base.DEC)
f.step = ProtoField.uint16("csaud.step", "Step", base.DEC)
f.coll_seq = ProtoField.uint32("csaud.coll_seq", "Collective", base.DEC)
f.src_rank = ProtoField.uint16("csaud.src_rank", "Source rank", base.DEC)
f.chunk = ProtoField.uint16("csaud.chunk", "Chunk", base.DEC)
f.pkt_idx = ProtoField.uint16("csaud.pkt_idx", "Packet index", base.DEC)
f.pkt_total = ProtoField.uint16("csaud.pkt_total", "Packets of the message", base.DEC)
f.path_id = ProtoField.uint16("csaud.path_id", "Path", base.DEC)
f.path_seq = ProtoField.uint16("csaud.path_seq", "Number on the path", base.DEC)
f.tx_ts = ProtoField.uint32("csaud.tx_ts", "Sent at (sender's clock, us)", base.DEC)

f.parity_row = ProtoField.uint16("csaud.parity.row", "Row of the parity", base.DEC)
f.parity_covered = ProtoField.uint8("csaud.parity.covered", "Packets covered, the last of the message", base.DEC)
f.message = ProtoField.string("csaud.message", "Message (epoch.comm.coll_seq.step.src_rank.chunk)")
f.payload = ProtoField.bytes("csaud.payload", "Payload")
f.payload_length = ProtoField.uint32("csaud.payload_length", "Payload length", base.DEC)
f.pad = ProtoField.bytes("csaud.pad", "Pad")
f.loss_form = ProtoField.uint8("csaud.loss_form", "Form of the LOSS", base.DEC,
    { [1] = "first: port of its own, no iCRC", [2] = "second: RoCE port, iCRC made by the switch" })
f.icrc_status = ProtoField.uint8("csaud.icrc_status", "iCRC", base.DEC, { [0] = "bad", [1] = "good" })

f.tag = ProtoField.bytes("csaud.control.tag", "Authentication tag")
f.reason = ProtoField.uint8("csaud.control.reason", "Reason", base.DEC, REASONS)
f.control_flags = ProtoField.uint8("csaud.control.flags", "Flags", base.HEX)
f.ecn_count = ProtoField.uint16("csaud.control.ecn_count", "ECN count", base.DEC)
f.newest_tx_ts = ProtoField.uint32("csaud.control.newest_tx_ts", "Newest tx_ts seen (us)", base.DEC)
f.echoed_path = ProtoField.uint16("csaud.control.echoed_path", "Echoed path", base.DEC)
f.path_first = ProtoField.uint16("csaud.control.path_first", "First path_seq missing, or window", base.DEC)
f.path_count = ProtoField.uint16("csaud.control.path_count", "How many path_seq, or packets arrived", base.DEC)
f.from_rank = ProtoField.uint16("csaud.control.from_rank", "Rank of the sender", base.DEC)
f.credit = ProtoField.uint32("csaud.control.credit", "Credit (packets granted, cumulative)", base.DEC)
f.cumulative = ProtoField.uint16("csaud.control.cumulative", "Cumulative index", base.DEC)
f.bitmap_bits = ProtoField.uint16("csaud.control.bitmap_bits", "Bitmap length (bits)", base.DEC)
f.bitmap = ProtoField.bytes("csaud.control.bitmap", "Bitmap")
f.note = ProtoField.string("csaud.control.note", "Note")
f.bitmap_row = ProtoField.string("csaud.control.bitmap.row", "Packets")
f.bitmap_received = ProtoField.uint16("csaud.control.bitmap.received", "Received", base.DEC)
f.bitmap_missing = ProtoField.uint16("csaud.control.bitmap.missing", "Missing", base.DEC)
f.bitmap_missing_list = ProtoField.string("csaud.control.bitmap.missing_packets", "Missing packets")

f.bth = ProtoField.bytes("csaud.bth", "Base Transport Header")
f.bth_opcode = ProtoField.uint8("csaud.bth.opcode", "Opcode", base.HEX, { [0x64] = "UD SEND Only" })
f.bth_padcnt = ProtoField.uint8("csaud.bth.padcnt", "Pad count", base.DEC, nil, 0x30)
f.bth_pkey = ProtoField.uint16("csaud.bth.pkey", "Partition key", base.HEX)
f.bth_destqp = ProtoField.uint24("csaud.bth.destqp", "Destination queue pair", base.HEX)
f.bth_psn = ProtoField.uint24("csaud.bth.psn", "Packet sequence number", base.DEC)
f.deth = ProtoField.bytes("csaud.deth", "Datagram Extended Transport Header")
f.deth_qkey = ProtoField.uint32("csaud.deth.qkey", "Queue key", base.HEX)
f.deth_srcqp = ProtoField.uint24("csaud.deth.srcqp", "Source queue pair", base.HEX)

-- The bits of a byte of flags, from the lowest; returns their fields.
local function flag_fields(prefix, names)
    local fields = {}
    for n, name in ipairs(names) do
        fields[n] = ProtoField.bool(prefix .. name[1], name[2], 8, nil, bit.lshift(1, n - 1))
        f[prefix .. name[1]] = fields[n]
    end
    return fields
end
local FLAGS = flag_fields("csaud.flags.", {
    { "rtx", "RTX (retransmission)" }, { "last", "LAST (of the message)" }, { "ack_req", "ACK_REQ" },
    { "no_trim", "NO_TRIM" }, { "barrier", "BARRIER" }, { "trimmed", "TRIMMED (by a switch)" },
    { "ecn_echo", "ECN_ECHO" }, { "dup", "DUP" },
})
local CONTROL_FLAGS = flag_fields("csaud.control.flags.", {
    { "seen", "newest tx_ts holds one" }, { "echo", "it is that of the packet answered" },
    { "awaited", "the receive is posted" }, { "of_path", "of the path that it takes" },
    { "window", "path_first is the window, path_count what arrived" },
})

csaud.fields = f

-- --- expert infos

local e = {}
local function declare(name, text, group, severity)
    e[name] = ProtoExpert.new("csaud.expert." .. name, text, expert.group[group], expert.severity[severity])
end
declare("loss", "A switch trimmed this packet: its payload is lost", "SEQUENCE", "WARN")
declare("missing", "The receiver has not got these packets", "SEQUENCE", "NOTE")
declare("retransmission", "Retransmission", "SEQUENCE", "NOTE")
declare("ecn", "Congestion was experienced (ECN echo)", "SEQUENCE", "CHAT")
declare("abort", "The job is aborted", "SEQUENCE", "ERROR")
declare("type", "Unknown type", "PROTOCOL", "WARN")
declare("trimmed", "LOSS, its flag TRIMMED and its UDP port do not fit together", "PROTOCOL", "WARN")
declare("index", "Packet index or number of packets out of range", "PROTOCOL", "ERROR")
declare("length", "Shorter or longer than its fields say", "MALFORMED", "ERROR")
declare("icrc", "Bad iCRC", "CHECKSUM", "ERROR")
csaud.experts = e

csaud.prefs.loss_port = Pref.uint("UDP port of trimmed packets", LOSS_PORT, "Where a LOSS goes to")
csaud.prefs.verify_icrc = Pref.bool("Verify the iCRC", false, "Of packets on the RoCE port; costs time")

-- What the InfiniBand dissector found; the last one, should one packet hold another.
local function last_of(field)
    local found = { field() }
    return found[#found]
end
local ib_opcode = Field.new("infiniband.bth.opcode")
local ib_destqp = Field.new("infiniband.bth.destqp")
local ib_padcnt = Field.new("infiniband.bth.padcnt")
local ip_version = Field.new("ip.version")

-- --- iCRC (InfiniBand Architecture Specification, annex A17)

local crc_table

local function make_crc_table()
    crc_table = {}
    for n = 0, 255 do
        local c = n
        for _ = 1, 8 do
            c = bit.band(c, 1) == 1 and bit.bxor(bit.rshift(c, 1), 0xEDB88320) or bit.rshift(c, 1)
        end
        crc_table[n] = c
    end
end

-- What may change on the way counts as ones: TOS, TTL and checksum of IPv4; traffic class, flow label and hop
-- limit of IPv6, beside its version.
local CHANGES = {
    [4] = { [1] = 0xFF, [8] = 0xFF, [10] = 0xFF, [11] = 0xFF },
    [6] = { [0] = 0x0F, [1] = 0xFF, [2] = 0xFF, [3] = 0xFF, [7] = 0xFF },
}
local IP_BYTES = { [4] = IPV4_BYTES, [6] = 40 }

-- Over a packet from its IP header on, `size` bytes, the iCRC at its end left out.
local function icrc_of(packet, size, version)
    local changes, udp = CHANGES[version], IP_BYTES[version]
    if crc_table == nil then make_crc_table() end
    local crc = 0xFFFFFFFF
    local function add(byte)
        crc = bit.bxor(bit.rshift(crc, 8), crc_table[bit.band(bit.bxor(crc, byte), 0xFF)])
    end
    for _ = 1, 8 do add(0xFF) end -- in place of InfiniBand's local route header
    for n = 0, size - ICRC_BYTES - 1 do
        -- beside these, UDP's checksum and BTH's resv8a
        local ones = n == udp + 6 or n == udp + 7 or n == udp + UDP_BYTES + 4
        add(ones and 0xFF or bit.bor(packet:get_index(n), n < udp and changes[n] or 0))
    end
    return bit.bnot(crc)
end

-- The InfiniBand dissector shows the iCRC only after it has offered us the payload, so it is looked up by its
-- place: `length` bytes of CSA header, body and pad lie between DETH and the iCRC.
local function show_icrc(length, tree)
    local version, opcode = last_of(ip_version), last_of(ib_opcode)
    local ip_bytes = version and IP_BYTES[version.value]
    if ip_bytes == nil or opcode == nil then return end
    local source, begin = opcode.source, version.offset
    local size = ip_bytes + UDP_BYTES + BTH_BYTES + DETH_BYTES + length + ICRC_BYTES
    if source == nil or begin + size > source:len() then return end
    if opcode.offset - begin ~= ip_bytes + UDP_BYTES then return end
    local sent = source:range(begin + size - ICRC_BYTES, ICRC_BYTES)
    local good = icrc_of(source:range(begin, size):bytes(), size, version.value) == bit.tobit(sent:le_uint())
    local item = tree:add(f.icrc_status, sent, good and 1 or 0):set_generated()
    if not good then item:add_proto_expert_info(e.icrc) end
end

-- --- the bitmap

-- "1, 3-7": the numbers in order, given by is_in(n) for 0 <= n < total.
local function ranges(total, is_in)
    local parts, n = {}, 0
    while n < total do
        if is_in(n) then
            local first = n
            while n + 1 < total and is_in(n + 1) do n = n + 1 end
            parts[#parts + 1] = first == n and tostring(first) or (first .. "-" .. n)
        end
        n = n + 1
    end
    return table.concat(parts, ", ")
end

local BITS_A_ROW = 64

-- Shows the bitmap; returns how many packets it misses and which. Bit i is 0x80 >> (i % 8) of byte i / 8.
local function dissect_bitmap(range, bits, tree)
    local bytes = range:bytes()
    local function has(n)
        return bit.band(bytes:get_index(math.floor(n / 8)), bit.rshift(0x80, n % 8)) ~= 0
    end
    local branch = tree:add(f.bitmap, range)
    local received = 0
    for first = 0, bits - 1, BITS_A_ROW do
        local marks, finish = {}, math.min(first + BITS_A_ROW, bits)
        for n = first, finish - 1 do
            if has(n) then received = received + 1 end
            marks[#marks + 1] = has(n) and "#" or "."
            if n % 8 == 7 and n < finish - 1 then marks[#marks + 1] = " " end
        end
        local from, to = math.floor(first / 8), math.floor((finish + 7) / 8)
        local text = string.format("%3d  %s", first, table.concat(marks))
        branch:add(f.bitmap_row, range:range(from, to - from), text):set_text(text)
    end
    local missing = ranges(bits, function(n) return not has(n) end)
    branch:set_text(string.format("Bitmap: %d of %d packets received%s", received, bits,
        missing == "" and "" or (", missing " .. missing)))
    branch:add(f.bitmap_received, range, received):set_generated()
    branch:add(f.bitmap_missing, range, bits - received):set_generated()
    if missing ~= "" then branch:add(f.bitmap_missing_list, range, missing):set_generated() end
    return bits - received, missing
end

-- --- the control part

local function add_flags(field, bits, range, tree)
    local branch = tree:add(field, range)
    for _, each in ipairs(bits) do branch:add(each, range) end
    return branch
end

local function add_all(fields, range, tree)
    for _, field in ipairs(fields) do tree:add(field[1], range:range(field[2], field[3])) end
end

-- Field, offset and length in bytes.
local CONTROL = {
    { f.ecn_count, 2, 2 }, { f.newest_tx_ts, 4, 4 }, { f.echoed_path, 8, 2 }, { f.path_first, 10, 2 },
    { f.path_count, 12, 2 }, { f.from_rank, 14, 2 }, { f.credit, 16, 4 }, { f.cumulative, 20, 2 },
    { f.bitmap_bits, 22, 2 },
}

-- Shows the `length` bytes behind the CSA header of a control packet; returns words for the Info column.
local function dissect_control(type, range, length, tree)
    if length < CONTROL_BYTES then
        tree:add_proto_expert_info(e.length, "A control packet has 24 bytes behind the CSA header")
        return "too short"
    end
    if range == nil or range:len() < length then return CUT end
    local branch = tree:add(csaud, range, "Control")
    local reason = range:range(0, 1):uint()
    branch:add(f.reason, range:range(0, 1))
    add_flags(f.control_flags, CONTROL_FLAGS, range:range(1, 1), branch)
    add_all(CONTROL, range, branch)
    local words = { REASONS[reason] or ("reason " .. reason), "from rank " .. range:range(14, 2):uint() }
    words[#words + 1] = "credit " .. range:range(16, 4):uint()
    local bits = range:range(22, 2):uint()
    if length == CONTROL_BYTES + math.floor((bits + 7) / 8) + TAG_BYTES then -- of a job that authenticates
        branch:add(f.tag, range:range(length - TAG_BYTES, TAG_BYTES))
        length = length - TAG_BYTES
    end
    local may_note = type == ABORT or (type == PROBE and reason == PING)
    if bits > (may_note and 8 * MOST_NOTE or MOST_PACKETS) or math.floor((bits + 7) / 8) ~= length - CONTROL_BYTES then
        branch:add_proto_expert_info(e.length, string.format("A %s of %d bits in %d bytes",
            may_note and "note" or "bitmap", bits, length - CONTROL_BYTES))
    elseif bits > 0 and may_note then
        branch:add(f.note, range:range(CONTROL_BYTES, length - CONTROL_BYTES))
        words[#words + 1] = "a note"
    elseif bits > 0 then
        local missing, which = dissect_bitmap(range:range(CONTROL_BYTES, length - CONTROL_BYTES), bits, branch)
        words[#words + 1] = string.format("%d of %d received", bits - missing, bits)
        if missing > 0 then
            words[#words + 1] = "missing " .. which
            branch:add_proto_expert_info(e.missing, "Missing: " .. which)
        end
    end
    return table.concat(words, ", ")
end

-- --- the CSA header

-- Field, offset and length in bytes; the fields' masks say which bits.
local HEADER = {
    { f.spray, 4, 1 }, { f.cls, 4, 1 }, { f.ordered, 4, 1 }, { f.attempt, 5, 1 }, { f.epoch, 6, 2 },
    { f.comm, 8, 2 }, { f.step, 10, 2 }, { f.coll_seq, 12, 4 }, { f.src_rank, 16, 2 }, { f.chunk, 18, 2 },
    { f.pkt_idx, 20, 2 }, { f.pkt_total, 22, 2 }, { f.path_id, 24, 2 }, { f.path_seq, 26, 2 },
    { f.tx_ts, 28, 4 },
}

-- Shows the header; returns the tree's item of the type and the message's name.
local function dissect_header(range, tree)
    tree:add(f.magic, range:range(0, 2))
    tree:add(f.version, range:range(0, 2))
    local type_item = tree:add(f.type, range:range(2, 1))
    local flags = add_flags(f.flags, FLAGS, range:range(3, 1), tree)
    if bit.band(range:range(3, 1):uint(), ECN_ECHO) ~= 0 then flags:add_proto_expert_info(e.ecn) end
    add_all(HEADER, range, tree)
    local function number(at, length) return range:range(at, length):uint() end
    local name = string.format("%d.%d.%d.%d.%d.%d", number(6, 2), number(8, 2), number(12, 4), number(10, 2),
        number(16, 2), number(18, 2))
    tree:add(f.message, range, name):set_generated()
    return type_item, name
end

-- What a DATA or a LOSS says, in words for the Info column.
local function describe_copy(header, tree, name)
    local index, total = header:range(20, 2):uint(), header:range(22, 2):uint()
    local attempt = header:range(5, 1):uint()
    if total < 1 or total > MOST_PACKETS or index >= total then
        tree:add_proto_expert_info(e.index, string.format("Packet %d of %d", index, total))
    end
    if attempt > 0 or bit.band(header:range(3, 1):uint(), RTX) ~= 0 then
        tree:add_proto_expert_info(e.retransmission, "Retransmission " .. attempt)
    end
    return string.format("%d/%d, message %s, path %d #%d%s", index, total, name, header:range(24, 2):uint(),
        header:range(26, 2):uint(), attempt > 0 and (", attempt " .. attempt) or "")
end

-- What a PARITY says: which of its rows, of how many packets at the message's end.
local function describe_parity(header, tree, name)
    local row, total, covered = header:range(20, 2):uint(), header:range(22, 2):uint(), header:range(5, 1):uint()
    if row >= MOST_ROWS or total > MOST_PACKETS or covered < 1 or covered > math.min(total, MOST_COVERED) then
        tree:add_proto_expert_info(e.index, string.format("Row %d of the last %d of %d packets", row, covered, total))
    end
    tree:add(f.parity_row, header:range(20, 2))
    tree:add(f.parity_covered, header:range(5, 1))
    return string.format("row %d of the last %d of %d, message %s, path %d #%d", row, covered, total, name,
        header:range(24, 2):uint(), header:range(26, 2):uint())
end

local function add_payload(range, length, tree)
    if range ~= nil then tree:add(f.payload, range) end
    tree:add(f.payload_length, length):set_generated()
end

local shown_in -- number of the frame that was shown last

-- `tvb` holds CSA header, body and `pad` bytes, `size` together, and no iCRC. The capture may have cut it.
local function dissect_csa(tvb, size, pad, on_loss_port, pinfo, root)
    shown_in = pinfo.number
    local tree = root:add(csaud, tvb:range())
    pinfo.cols.protocol = "CSA-UD"
    if tvb:len() < CSA_BYTES then
        pinfo.cols.info = CUT
        return
    end
    local header = tvb:range(0, CSA_BYTES)
    local type_item, name = dissect_header(header, tree)
    local type, flags = header:range(2, 1):uint(), header:range(3, 1):uint()
    local length = size - CSA_BYTES - pad
    local padded = pad > 0 and length >= 0
    if length < 0 then
        tree:add_proto_expert_info(e.length, "No room for the pad bytes of BTH's PadCnt")
        length = 0
    end
    local shown = math.min(length, tvb:len() - CSA_BYTES)
    local body = shown > 0 and tvb:range(CSA_BYTES, shown) or nil

    local words
    if type == DATA then
        words = describe_copy(header, tree, name) .. ", " .. length .. " bytes"
        add_payload(body, length, tree)
    elseif type == PARITY then
        words = describe_parity(header, tree, name) .. ", " .. length .. " bytes"
        add_payload(body, length, tree)
    elseif type == LOSS then
        words = describe_copy(header, tree, name)
        add_payload(body, length, tree)
        tree:add(f.loss_form, on_loss_port and 1 or 2):set_generated()
        type_item:add_proto_expert_info(e.loss)
    elseif TYPES[type] ~= nil then
        words = dissect_control(type, body, length, tree) .. ", message " .. name
        if type == ABORT then type_item:add_proto_expert_info(e.abort) end
    else
        words = ""
        type_item:add_proto_expert_info(e.type)
    end
    if (type == LOSS) ~= (bit.band(flags, TRIMMED) ~= 0) or (on_loss_port and type ~= LOSS) then
        type_item:add_proto_expert_info(e.trimmed)
    end
    if padded and shown + pad <= tvb:len() - CSA_BYTES then
        tree:add(f.pad, tvb:range(CSA_BYTES + shown, pad))
    end
    if not on_loss_port and csaud.prefs.verify_icrc then show_icrc(size, tree) end

    local type_name = TYPES[type] or ("type " .. type)
    tree:append_text(string.format(", %s, %s", type_name, words))
    pinfo.cols.info = type_name .. " " .. words
end

local function is_csa(tvb, at, size)
    return size >= CSA_BYTES and tvb:len() >= at + 2 and tvb:range(at, 2):uint() == MAGIC * 16 + VERSION
end

-- Shows what lies behind BTH and DETH that Wireshark's own dissector has shown, if it is ours.
local function behind_infiniband(tvb, size, pinfo, root)
    local opcode, destqp, padcnt = last_of(ib_opcode), last_of(ib_destqp), last_of(ib_padcnt)
    if opcode == nil or opcode.value ~= OPCODE_UD_SEND_ONLY then return false end
    if destqp == nil or destqp.range:uint() == QP_GENERAL_SERVICES then return false end
    if not is_csa(tvb, 0, size) then return false end
    dissect_csa(tvb, size, padcnt and padcnt.value or 0, false, pinfo, root)
    return true
end

local function heuristic(tvb, pinfo, root)
    return behind_infiniband(tvb, tvb:reported_len(), pinfo, root)
end

-- Wireshark asks the heuristic first that said yes last, and EoIB's says yes to our packets, too; and it does
-- not ask at all when the capture cut a frame short. What was missed for that is shown at the end.
local late = Proto("csaud_late", "CSA-UD, missed at first")
function late.dissector(_, pinfo, root)
    local opcode = last_of(ib_opcode)
    if shown_in == pinfo.number or opcode == nil or opcode.value ~= OPCODE_UD_SEND_ONLY then return end
    local source, bth = opcode.source, opcode.offset
    if source == nil or bth < UDP_BYTES or bth + BTH_BYTES + DETH_BYTES >= source:len() then return end
    local length = source:range(bth - UDP_BYTES + 4, 2):uint()
    local size = length - UDP_BYTES - BTH_BYTES - DETH_BYTES - ICRC_BYTES
    local left = source:len() - bth - BTH_BYTES - DETH_BYTES
    if size < CSA_BYTES then return end
    local range = source:range(bth + BTH_BYTES + DETH_BYTES, math.min(size, left))
    behind_infiniband(range:tvb(), size, pinfo, root)
end
register_postdissector(late)

-- The payload of a UDP datagram on the port of trimmed packets.
function csaud.dissector(tvb, pinfo, root)
    local size = tvb:reported_len() - BTH_BYTES - DETH_BYTES
    if not is_csa(tvb, BTH_BYTES + DETH_BYTES, size) then return 0 end
    local range = tvb:range(0, BTH_BYTES)
    if range:range(0, 1):uint() ~= OPCODE_UD_SEND_ONLY then return 0 end
    if range:range(5, 3):uint() == QP_GENERAL_SERVICES then return 0 end
    local bth = root:add(f.bth, range):set_text("Base Transport Header")
    bth:add(f.bth_opcode, range:range(0, 1))
    bth:add(f.bth_padcnt, range:range(1, 1))
    bth:add(f.bth_pkey, range:range(2, 2))
    bth:add(f.bth_destqp, range:range(5, 3))
    bth:add(f.bth_psn, range:range(9, 3))
    range = tvb:range(BTH_BYTES, DETH_BYTES)
    local deth = root:add(f.deth, range):set_text("Datagram Extended Transport Header")
    deth:add(f.deth_qkey, range:range(0, 4))
    deth:add(f.deth_srcqp, range:range(5, 3))
    dissect_csa(tvb:range(BTH_BYTES + DETH_BYTES):tvb(), size, 0, true, pinfo, root)
    return tvb:len()
end

csaud:register_heuristic("infiniband.payload", heuristic)

local udp = DissectorTable.get("udp.port")
local registered = csaud.prefs.loss_port
udp:add(registered, csaud)

function csaud.prefs_changed()
    if csaud.prefs.loss_port == registered then return end
    udp:remove(registered, csaud)
    registered = csaud.prefs.loss_port
    udp:add(registered, csaud)
end
