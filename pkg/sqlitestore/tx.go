package sqlitestore

import (
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A tx is one transaction, which may run many calls. Within it the position of each stream is kept in memory and
// stored once at the end.
type tx struct {
	*conn
	positions []*position
	created   []int64
	deleted   []int64

	mark mark
}

// A position is where a session's stream stands.
type position struct {
	session     int64
	next, floor store.Seq
	stored      store.Seq // next as the table has it
}

// A mark is what a call may have changed in memory.
type mark struct {
	moved            *position
	next             store.Seq
	created, deleted int
}

// runAll runs the calls, each in a savepoint if it is not alone, and reports whether any wants to be committed. Its
// own error means that the transaction is lost.
func (t *tx) runAll(batch []*task) (write bool, err error) {
	for _, task := range batch {
		t.mark = mark{created: len(t.created), deleted: len(t.deleted)}
		if len(batch) > 1 {
			if _, err := t.exec("SAVEPOINT call"); err != nil {
				return false, err
			}
		}
		task.err = task.run(t)
		if task.err == nil {
			write = true
		} else {
			t.undo()
		}
		if len(batch) == 1 {
			continue
		}
		if task.err != nil {
			if _, err := t.exec("ROLLBACK TO call"); err != nil {
				return false, errors.Join(task.err, err)
			}
		}
		if _, err := t.exec("RELEASE call"); err != nil {
			return false, err
		}
	}
	return write, nil
}

func (t *tx) undo() {
	if t.mark.moved != nil {
		t.mark.moved.next = t.mark.next
	}
	t.created, t.deleted = t.created[:t.mark.created], t.deleted[:t.mark.deleted]
}

// position returns where the stream of a session stands, or [store.ErrUnknownSession]. A call works on one session.
func (t *tx) position(session int64) (*position, error) {
	for _, p := range t.positions {
		if p.session == session {
			t.mark.moved, t.mark.next = p, p.next
			return p, nil
		}
	}
	p := &position{session: session}
	ok, err := t.one("SELECT next_seq, event_floor FROM sessions WHERE key=?", func(row []driver.Value) (err error) {
		p.next, p.floor, err = seqs(row[0], row[1])
		return err
	}, session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, store.ErrUnknownSession
	}
	p.stored = p.next
	t.positions = append(t.positions, p)
	t.mark.moved, t.mark.next = p, p.next
	return p, nil
}

// forget drops a position, as the last thing of the call that deleted its session.
func (t *tx) forget(session int64) {
	t.positions = slices.DeleteFunc(t.positions, func(p *position) bool { return p.session == session })
	t.deleted = append(t.deleted, session)
}

func (t *tx) storePositions() error {
	for _, p := range t.positions {
		if p.next == p.stored {
			continue
		}
		if _, err := t.exec("UPDATE sessions SET next_seq=? WHERE key=?", int64(p.next), p.session); err != nil {
			return err
		}
	}
	return nil
}

func seqs(a, b driver.Value) (store.Seq, store.Seq, error) {
	x, err := asInt(a)
	if err != nil {
		return 0, 0, err
	}
	y, err := asInt(b)
	return store.Seq(x), store.Seq(y), err
}
