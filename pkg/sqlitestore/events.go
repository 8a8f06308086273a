package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func (s *Store) packEvents(bodies []store.EventBody) ([][]byte, error) {
	rows := make([][]byte, len(bodies))
	for i, b := range bodies {
		row, err := s.codec.packEvent(b)
		if err != nil {
			return nil, fmt.Errorf("%w: event %d (%s): %w", store.ErrInvalid, i, store.EventKind(b), err)
		}
		rows[i] = row
	}
	return rows, nil
}

// appendEvents writes events at the end of the stream. The new end is stored once for the whole transaction.
func (t *tx) appendEvents(p *position, rows [][]byte, now store.Millis) error {
	for _, row := range rows {
		_, err := t.exec("INSERT INTO events (session, seq, at, body) VALUES (?,?,?,?)", p.session, int64(p.next), int64(now), row)
		if err != nil {
			return err
		}
		p.next++
	}
	return nil
}

// AppendEvents implements [store.EventWriter].
func (s *session) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	if err := store.CheckEvents(bodies); err != nil {
		return nil, err
	}
	rows, err := s.store.packEvents(bodies)
	if err != nil {
		return nil, err
	}
	var out store.AppendOutcome
	err = s.write(ctx, true, func(t *tx, p *position) error {
		now := s.store.millis()
		if lease != nil {
			ok, err := t.holdLease(s.key, *lease, 0, false, now)
			if err != nil {
				return err
			}
			if !ok {
				out = store.Fenced{}
				return errUndo
			}
		}
		if err := t.appendEvents(p, rows, now); err != nil {
			return err
		}
		out = store.Appended{Seq: p.next - 1}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("appending events: %w", err)
	}
	return out, nil
}

// TrimEvents implements [store.EventWriter].
func (s *session) TrimEvents(ctx context.Context, before store.Seq) (store.Seq, error) {
	var floor store.Seq
	err := s.write(ctx, true, func(t *tx, p *position) error {
		floor = max(p.floor, min(before, p.next-1))
		if floor == p.floor {
			return nil
		}
		if _, err := t.exec("DELETE FROM events WHERE session=? AND seq<=?", s.key, int64(floor)); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE sessions SET event_floor=? WHERE key=?", int64(floor), s.key); err != nil {
			return err
		}
		p.floor = floor
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("trimming events: %w", err)
	}
	return floor, nil
}

// One statement sees one instant: the floor, the end and the events between.
const readEvents = `
SELECT s.next_seq, s.event_floor, e.seq, e.at, e.body
FROM sessions s LEFT JOIN events e ON e.session=s.key AND e.seq>?2
WHERE s.key=?1 ORDER BY e.seq LIMIT ?3`

var errGap = errors.New("the stored stream has a gap")

// ReadEvents implements [store.EventReader].
func (s *session) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	if limit <= 0 {
		limit = store.DefaultPage
	}
	var page []store.Event
	err := s.read(ctx, func(c *conn) error {
		seq := after
		ok, err := c.one(readEvents, func(row []driver.Value) error {
			next, floor, err := seqs(row[0], row[1])
			if err != nil {
				return err
			}
			if after < floor {
				return &store.CursorExpiredError{After: after, Floor: floor}
			}
			if seq++; row[2] == nil {
				if seq < next {
					return fmt.Errorf("%w: event %d is missing", errGap, seq)
				}
				return nil
			}
			e, err := s.event(row[2:])
			if err == nil && e.Seq != seq {
				err = fmt.Errorf("%w: event %d is missing", errGap, seq)
			}
			page = append(page, e)
			return err
		}, s.key, int64(after), int64(limit))
		if err == nil && !ok {
			err = store.ErrUnknownSession
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading events after %d: %w", after, err)
	}
	return page, nil
}

func (s *session) event(row []driver.Value) (store.Event, error) {
	seq, at, err := seqs(row[0], row[1])
	if err != nil {
		return store.Event{}, err
	}
	data, err := asBytes(row[2])
	if err != nil {
		return store.Event{}, err
	}
	body, err := s.store.codec.unpackEvent(data)
	if err != nil {
		return store.Event{}, fmt.Errorf("stored event %d is malformed: %w", seq, err)
	}
	return store.Event{Seq: seq, At: store.Millis(at), Body: body}, nil
}

// LastSeq implements [store.EventReader].
func (s *session) LastSeq(ctx context.Context) (store.Seq, error) {
	next, _, err := s.ends(ctx)
	return max(next-1, 0), err
}

// Floor implements [store.EventReader].
func (s *session) Floor(ctx context.Context) (store.Seq, error) {
	_, floor, err := s.ends(ctx)
	return floor, err
}

func (s *session) ends(ctx context.Context) (next, floor store.Seq, err error) {
	err = s.read(ctx, func(c *conn) error {
		ok, err := c.one("SELECT next_seq, event_floor FROM sessions WHERE key=?", func(row []driver.Value) (err error) {
			next, floor, err = seqs(row[0], row[1])
			return err
		}, s.key)
		if err == nil && !ok {
			err = store.ErrUnknownSession
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("reading the stream's ends: %w", err)
	}
	return next, floor, nil
}
