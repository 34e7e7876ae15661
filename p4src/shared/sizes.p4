// Table and array sizes, said once.
#ifndef CSAUD_SIZES_P4
#define CSAUD_SIZES_P4

#define ROUTES 4096
#define GROUPS 1024
#define MEMBERS 4096
#define SPRAY_POLICIES 256
#define BUCKETS 65536         // GROUPS * 64 buckets of a weighted group
#define FLOWLETS 4096
#define SIGNALS 2048
#define PUNTS 512             // ports * EtherTypes that are for the controller
#define SOURCES 1024          // addresses of hosts at ports of their own
#define CLASSES 1024          // PORTS * 8 classes
#define QUEUES 64             // DSCP
#define PORTS_BY_REASON 512   // PORTS * 4 reasons
#define REASONS 8             // why a packet is discarded
#define PORTS 128             // ports 0..127; arrays per port are indexed by the low 7 bits
#define SHADOWS 256           // PORTS * 2: CSA, and other traffic
#define PORTS_BY_KIND 512     // PORTS * 4 kinds
#define PORTS_BY_PATH 2048    // PORTS * 16 path buckets

#endif
