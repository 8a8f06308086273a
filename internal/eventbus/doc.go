// Package eventbus tells others what happened in sessions: events of CloudEvents 1.0, for a bus.
//
//	dev.stepwell.run.finished     a run has answered its last message
//	dev.stepwell.run.waiting      a run stands still until a person answers a question
//	dev.stepwell.run.failed       a run ended with an error
//	dev.stepwell.run.aborted      a run was stopped
//	dev.stepwell.session.deleted  a session is gone
//
// They are made from the changes that the table's stream tells of: a run is told of when its ref has moved to another phase. A move of a run's ref costs
// one read of an object; whatever else a session writes costs none.
//
// Each is published at least once. Its id follows from where it stands in its session, so that it is the same each time. Those of one session are
// sent in their order; the bus does not promise to keep it, so every event of a run has its number.
//
// What can never be told, since the session is gone or its objects are damaged, is logged and passed over. Whatever else fails is for the stream to bring
// again.
package eventbus
