// Package wake sees to it that a head that can go on is stepped, where nothing stays running.
//
// The truth is in the refs, and in the mark that the store keeps on every session that somebody should look at. Every message is a hint: whoever gets
// one reads, and does what it sees. A message that is lost costs time; one that is late, repeated, out of order or forged costs a read.
//
//	queue     whoever commits something sends the head to the queue of steps, and so does a step after which there is more to do
//	stream    the table's stream has every commit; a session that is marked and that nobody holds is looked at
//	schedule  a deadline has a schedule, and a delayed message of exactly its length when it is less than 15 minutes away
//	watchdog  before a model or tools are called, a delayed message is left for when the lease will have expired
//	sweep     every minute, what is marked is looked at, whatever became of all messages
package wake
