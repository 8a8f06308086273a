package dynstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A SessionKey says whose session an item is of.
type SessionKey struct {
	Tenant      string
	Session     store.SessionID
	Incarnation string // what tells a session from others that had its id before or have it after
}

// ParseControlKey returns the session whose control item has a primary key; ok is false for any other item. The control item is the one that every
// write of a session touches, so that the table's stream tells by it.
func ParseControlKey(partition, sort string) (k SessionKey, ok bool) {
	if sort != controlKey {
		return SessionKey{}, false
	}
	return parsePartition(partition)
}

// ParsePackKey returns the session of which the item with a primary key is a pack of events; ok is false for any other item.
func ParsePackKey(partition, sort string) (k SessionKey, ok bool) {
	if !strings.HasPrefix(sort, packPrefix) {
		return SessionKey{}, false
	}
	return parsePartition(partition)
}

func parsePartition(p string) (SessionKey, bool) {
	parts := strings.Split(p, "#")
	if len(parts) != 4 || parts[0] != "S" {
		return SessionKey{}, false
	}
	tenant, err := ref.Unescape(parts[1])
	if err != nil {
		return SessionKey{}, false
	}
	return SessionKey{Tenant: tenant, Session: store.SessionID(parts[2]), Incarnation: parts[3]}, true
}

// OpenIncarnation returns a handle on the incarnation of a session that an item is of. It asks nothing: whether the session is still there shows when
// something is read. The handle does not know the owner.
func (s *Store) OpenIncarnation(k SessionKey) (store.Session, error) {
	if k.Tenant != s.tenant || !valid(k.Session) || k.Incarnation == "" {
		return nil, fmt.Errorf("%w: %+v names no session of tenant %q", store.ErrInvalid, k, s.tenant)
	}
	return s.handle(k.Session, k.Incarnation), nil
}

// An Image is what the table's stream tells of a session.
type Image struct {
	Seq  store.Seq // the newest event
	Mark Mark
}

// ReadImage reads the image of a control item, which [ParseControlKey] recognises.
func ReadImage(image map[string]types.AttributeValue) (Image, error) {
	c, err := decodeControl(image)
	if err != nil {
		return Image{}, err
	}
	return Image{Seq: c.seq, Mark: c.mark("")}, nil
}

// A Change is what a record of the table's stream tells of the events of a session, without any read.
type Change struct {
	After store.Seq // the newest event before the record
	Upto  store.Seq // the newest event after it
	// Known is the first event from which on the image has all: those after After and before Known are in packs by now.
	Known store.Seq
	// Moves are the ref events from Known on, and some from before After as far as the image has them.
	Moves []store.Event
}

// ReadChange reads the images of a control item from before and after a write; before is nil for a session that was made. Of an event that the
// write did not bring nothing is demanded.
func ReadChange(before, after map[string]types.AttributeValue) (Change, error) {
	c, err := decodeControl(after)
	if err != nil {
		return Change{}, err
	}
	out := Change{Upto: c.seq}
	if before != nil {
		n, err := intOf(before, attrSeq)
		if err != nil {
			return Change{}, fmt.Errorf("%w: the image from before: %w", errControl, err)
		}
		out.After = store.Seq(n)
	}
	out.Known = c.seq + 1
	if out.Upto == out.After {
		return out, nil // a lease or a mark
	}
	tail, err := records(c.tail, c.seq)
	if err != nil {
		return Change{}, err
	}
	out.Known = max(c.seq+1-store.Seq(len(tail)), out.After+1)
	for _, rec := range tail {
		if len(rec.data) == 0 || rec.data[0] != eventRef {
			continue
		}
		e, err := rec.event()
		switch {
		case err == nil:
			out.Moves = append(out.Moves, e)
		case rec.seq > out.After:
			return Change{}, err
		}
	}
	return out, nil
}

// A Pack is what the table's stream tells of events that a write put into a pack of their own.
type Pack struct {
	First, Last store.Seq
	Moves       []store.Event // the ref events
}

// ReadPack reads the image of a pack, which [ParsePackKey] recognises.
func (s *Store) ReadPack(image map[string]types.AttributeValue) (Pack, error) {
	list, err := s.codec.unpackItem(image)
	if err != nil {
		return Pack{}, err
	}
	if len(list) == 0 {
		return Pack{}, fmt.Errorf("%w: the pack is empty", errPack)
	}
	p := Pack{First: list[0].seq, Last: list[len(list)-1].seq}
	for _, rec := range list {
		if len(rec.data) == 0 || rec.data[0] != eventRef {
			continue
		}
		e, err := rec.event()
		if err != nil {
			return Pack{}, err
		}
		p.Moves = append(p.Moves, e)
	}
	return p, nil
}

// Fill adds what packs have of the events that the image does not. They may be of other writes too; if they do not have all, nothing is changed.
func (c *Change) Fill(packs []Pack) {
	packs = slices.SortedFunc(slices.Values(packs), func(a, b Pack) int { return cmp.Compare(a.First, b.First) })
	next := c.After + 1
	var moves []store.Event
	for _, p := range packs {
		if p.Last < next || p.First > next || next >= c.Known {
			continue
		}
		for _, e := range p.Moves {
			if e.Seq < c.Known {
				moves = append(moves, e)
			}
		}
		next = p.Last + 1
	}
	if next < c.Known {
		return
	}
	for _, e := range c.Moves {
		if e.Seq >= c.Known {
			moves = append(moves, e)
		}
	}
	c.Known, c.Moves = c.After+1, moves
}
