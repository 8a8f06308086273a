// Package dynstore keeps sessions in one DynamoDB table, with large object bodies elsewhere.
//
// # Items
//
// The primary key is the partition key "p" and the sort key "s", both strings. The one index, "wake", has the control items with "v" and "w". Each incarnation of a session has a
// partition of its own, S#<tenant>#<session>#<incarnation>, so that a handle on a deleted session never reaches a later one of the same id:
//
//	A                    control: n last sequence number, f floor, c creation time, k leases ever granted, t tail,
//	                     m which buckets there are, a bit each, and the leases by name: o owner, g fence, x expiry, y the owner before; z whose was released last; w since or from when somebody should look, v its list in the index
//	H#<00..15>           all refs of the heads that hash here (tip, stack, run, both ends of every lane): r refs, n stamp
//	X#<00..15>           all effect refs of the runs that hash here: r, n
//	R#<name>             any other ref: r oid, n
//	V#<00..31>           refs like those of R#, from updates that moved many of them: r, n. What is here overrides R#, and a
//	                     zero oid says absent
//	E#<last, 16 digits>  a pack of events up to that number: b batches, c codec, k how many events
//	O#<oid, base64>      an object: t time of its last write, b body or u its key in Bodies, c codec, g generation in its
//	                     chain, a some ancestors
//
// The directory of a tenant is the partition T#<tenant>:
//
//	N#<session>                 i incarnation, c creation time, o owner if there is one
//	L#<created>#<session>       the same, in the order of creation
//	U#<owner>#<created>#<session>  the same once more when there is an owner
//	D#<session>#<incarnation>   a deleted session of which there may be items left
//
// Refs in one item are sorted by name, each name as what it does not share with the one before. A batch is the events of one transaction
// behind the transaction's id and time. The tail is the newest batches, kept in the control item as long as that costs nothing; a write that
// would make it cost more packs them. Codec 1 is zstd, no codec is plain; hashes are over the uncompressed bytes. Tenants and owners are escaped as in
// package ref, so that no two sessions share a key.
//
// # Writes
//
// Every event takes the next sequence number of the session, so every write that has one moves n in the control item. A write is judged on
// a read, or on what this Store remembers, as of one n, and then made under the condition that n is still that. So it needs no condition on
// anything that it only asserted; the items that it does write have their stamp for a condition, which costs nothing. An update is one
// transaction in fixed positions: control item, ref items, packs, objects. An append is one update of the control item while the tail has room.
//
// A write whose answer is lost is resolved by reading. At the same n it is sent again; beyond, the event behind n tells by its transaction id
// whose it is. Contention and throttling are retried here with full jitter and a new read, and end in [ErrBusy] after 100 attempts or 25
// seconds of waiting. The SDK's own retries are off.
//
// # Reads
//
// Refs are read in transactions, which are serial with every update; other reads of several items are not. Leases and events are read strongly.
// Events come from the control item first and then from the packs that it speaks of. Objects are immutable: they are read from any replica, and
// again strongly where one is missing, verified, and cached.
//
// # Waking
//
// Every update that moves a queue, a run or an effect marks the session: somebody should look whether a head can go on. The mark costs a write to the
// index once, until [Store.Settle] takes it away or puts it off, on the condition that nothing has happened since. [Store.Due] lists what is marked. So
// a session that can go on is found whatever messages were lost.
//
// # Clocks
//
// Leases go by the clock of the process that acquires. Options.SkewMargin is how far clocks may differ.
package dynstore
