package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A change is a checked update, encoded outside of the transaction.
type change struct {
	updates []store.Update
	objects []packed
	events  [][]byte // the ref events of the writes, then the caller's
}

// prepare checks and encodes everything that does not need the database.
func (s *Store) prepare(updates []store.Update, opts store.UpdateOptions) (*change, error) {
	if err := store.CheckUpdate(updates, opts); err != nil {
		return nil, err
	}
	objs := s.packObjects(opts.Objects)
	bodies := make([]store.EventBody, 0, len(updates)+len(opts.Events))
	for _, u := range updates {
		if u.From != u.To {
			bodies = append(bodies, store.RefEvent{Name: u.Name, From: u.From, To: u.To, Reason: opts.Reason, Actor: opts.Actor})
		}
	}
	events, err := s.packEvents(append(bodies, opts.Events...))
	if err != nil {
		return nil, err
	}
	return &change{updates: updates, objects: objs, events: events}, nil
}

// move checks every ref in list order and writes those that change. Each is one statement that compares and swaps at once; what was
// moved before a mismatch is undone with the call.
func (c *change) move(t *tx, session int64) (conflict *store.UpdateConflict, err error) {
	for _, u := range c.updates {
		ok, err := moveRef(t.conn, session, u)
		if err != nil {
			return nil, err
		}
		if ok {
			continue
		}
		actual, err := readRef(t.conn, session, u.Name)
		if err != nil {
			return nil, err
		}
		return &store.UpdateConflict{Name: u.Name, Actual: actual}, nil
	}
	return nil, nil
}

func moveRef(c *conn, session int64, u store.Update) (ok bool, err error) {
	var n int64
	switch {
	case u.From == u.To:
		actual, err := readRef(c, session, u.Name)
		return actual == u.From, err
	case u.From.IsZero():
		n, err = c.exec("INSERT INTO refs (session, name, oid) VALUES (?,?,?) ON CONFLICT DO NOTHING", session, string(u.Name), u.To[:])
	case u.To.IsZero():
		n, err = c.exec("DELETE FROM refs WHERE session=? AND name=? AND oid=?", session, string(u.Name), u.From[:])
	default:
		n, err = c.exec("UPDATE refs SET oid=? WHERE session=? AND name=? AND oid=?", u.To[:], session, string(u.Name), u.From[:])
	}
	return n == 1, err
}

func readRef(c *conn, session int64, name ref.Name) (oid object.OID, err error) {
	_, err = c.one("SELECT oid FROM refs WHERE session=? AND name=?", func(row []driver.Value) error {
		oid, err = asOID(row[0])
		return err
	}, session, string(name))
	return oid, err
}

// apply makes the change true in a session that has no ref yet.
func (c *change) apply(t *tx, p *position, now store.Millis) error {
	conflict, err := c.move(t, p.session)
	if err != nil {
		return err
	}
	if conflict != nil {
		return fmt.Errorf("%w: ref %s is given twice", store.ErrInvalid, conflict.Name)
	}
	return c.write(t, p, now)
}

// write stores the objects and the events.
func (c *change) write(t *tx, p *position, now store.Millis) error {
	if err := t.putObjects(p.session, c.objects, now); err != nil {
		return err
	}
	return t.appendEvents(p, c.events, now)
}

// UpdateRefs implements [store.RefWriter].
func (s *session) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	c, err := s.store.prepare(updates, opts)
	if err != nil {
		return nil, err
	}
	var out store.UpdateOutcome
	err = s.write(ctx, true, func(t *tx, p *position) error {
		now := s.store.millis()
		if opts.Lease != nil {
			ok, err := t.holdLease(s.key, *opts.Lease, opts.Renew, opts.Release, now)
			if err != nil {
				return err
			}
			if !ok {
				out = store.Fenced{}
				return errUndo
			}
		}
		conflict, err := c.move(t, s.key)
		if err != nil {
			return err
		}
		if conflict != nil {
			out = *conflict
			return errUndo
		}
		if err := c.write(t, p, now); err != nil {
			return err
		}
		out = store.Updated{Seq: p.next - 1}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("updating refs (%s): %w", opts.Reason, err)
	}
	if _, ok := out.(store.Updated); ok {
		s.remember(c.objects)
	}
	return out, nil
}

// ReadRefs implements [store.RefReader].
func (s *session) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	oids := make([]object.OID, 0, len(names))
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	do := s.store.readers.do
	if len(names) > maxIn { // more than one statement
		do = s.store.readers.snapshot
	}
	err := do(ctx, func(c *conn) (err error) {
		if len(names) == 0 {
			return s.exists(c)
		}
		for rest := names; len(rest) > 0 && err == nil; {
			n := min(len(rest), maxIn)
			oids, err = s.readRefs(c, rest[:n], oids)
			rest = rest[n:]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading refs: %w", err)
	}
	return oids, nil
}

func (s *session) readRefs(c *conn, names []ref.Name, oids []object.OID) ([]object.OID, error) {
	const column = "(SELECT oid FROM refs WHERE session=s.key AND name=?)"
	args := make([]driver.Value, 0, len(names)+1)
	for _, n := range names {
		args = append(args, string(n))
	}
	ok, err := c.one("SELECT "+column+strings.Repeat(","+column, len(names)-1)+" FROM sessions s WHERE s.key=?",
		func(row []driver.Value) error {
			for _, v := range row {
				var oid object.OID
				if v != nil {
					var err error
					if oid, err = asOID(v); err != nil {
						return err
					}
				}
				oids = append(oids, oid)
			}
			return nil
		}, append(args, s.key)...)
	if err == nil && !ok {
		err = store.ErrUnknownSession
	}
	return oids, err
}

// ListRefs implements [store.RefReader].
func (s *session) ListRefs(ctx context.Context, prefix string) ([]store.Ref, error) {
	query, args := "SELECT name, oid FROM refs WHERE session=? AND name>=?", []driver.Value{s.key, prefix}
	if end, ok := prefixEnd(prefix); ok {
		query, args = query+" AND name<?", append(args, end)
	}
	var refs []store.Ref
	err := s.read(ctx, func(c *conn) error {
		err := c.query(query+" ORDER BY name", func(row []driver.Value) error {
			name, err := asText(row[0])
			if err != nil {
				return err
			}
			oid, err := asOID(row[1])
			refs = append(refs, store.Ref{Name: ref.Name(name), OID: oid})
			return err
		}, args...)
		if err == nil && len(refs) == 0 {
			err = s.exists(c)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing refs: %w", err)
	}
	return refs, nil
}

// prefixEnd returns the first text after all that start with prefix; there is none after "" and after bytes of 0xff.
func prefixEnd(prefix string) (end string, ok bool) {
	b := []byte(prefix)
	for len(b) > 0 {
		if last := len(b) - 1; b[last] < 0xff {
			b[last]++
			return string(b), true
		}
		b = b[:len(b)-1]
	}
	return "", false
}
