package history

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Findings count what [Witness] judged.
type Findings struct {
	Writes   int // calls that are in the stream
	Answers  int // reads, conflicts and bare assertions, each true at some moment of its call
	Grants   int // leases
	Fenced   int // refusals of a lease
	Unknown  int // open calls
	Happened int // open calls that the stream shows to have happened
}

// Plus returns the sum of f and g.
func (f Findings) Plus(g Findings) Findings {
	return Findings{
		Writes: f.Writes + g.Writes, Answers: f.Answers + g.Answers, Grants: f.Grants + g.Grants, Fenced: f.Fenced + g.Fenced,
		Unknown: f.Unknown + g.Unknown, Happened: f.Happened + g.Happened,
	}
}

// Witness checks the calls of one session, which was new and empty, against its whole stream, and returns the first thing that
// cannot be. The margin is how long after its expiry a lease of the store still holds others off.
//
// The reason of every update and the message of every notice must be unique, since they tell whose an event is.
func Witness(ops []Op, stream []store.Event, margin store.Duration) (Findings, error) {
	w := &witness{ops: make([]*Op, len(ops)), versions: map[ref.Name][]version{}}
	for i := range ops {
		w.ops[i] = &ops[i]
		if !ops[i].Known() {
			w.found.Unknown++
		}
	}
	l := newLeases(w.ops, store.Millis(margin.Milliseconds()))
	for _, check := range []func() error{
		func() error { return w.attribute(stream) },
		w.replay,
		w.answers,
		l.grantsInOrder,
		l.uses,
		l.contenders,
		func() error { return l.sequence(w.writes) },
	} {
		if err := check(); err != nil {
			return w.found, err
		}
	}
	w.found.Grants, w.found.Fenced = l.granted, l.refused
	return w.found, nil
}

// A witness replays the refs of a session in the order of the stream.
type witness struct {
	ops    []*Op
	writes []write
	// versions has the values of each ref with the number of writes that it takes to see them.
	versions map[ref.Name][]version
	found    Findings
}

// A write is a call that is in the stream, where its last event has the number seq.
type write struct {
	*Op

	seq store.Seq
}

type version struct {
	after int
	oid   object.OID
}

// attribute finds the events of every call in the stream: all of them in a row, or none, as its answer says.
func (w *witness) attribute(stream []store.Event) error {
	for i, e := range stream {
		if e.Seq != store.Seq(i+1) {
			return fmt.Errorf("event number %d follows %d", e.Seq, i)
		}
	}
	author := map[string]*Op{}
	for _, o := range w.ops {
		for _, body := range o.events() {
			m := mark(body)
			if other := author[m]; other != nil && other != o {
				return fmt.Errorf("the history is unfit: %q marks both %v and %v", m, other, o)
			}
			author[m] = o
		}
	}
	seen := map[*Op]bool{}
	for i := 0; i < len(stream); {
		o := author[mark(stream[i].Body)]
		if o == nil {
			return fmt.Errorf("nobody wrote event %d: %+v", stream[i].Seq, stream[i].Body)
		}
		if seen[o] {
			return fmt.Errorf("event %d is written twice by %v", stream[i].Seq, o)
		}
		seen[o] = true
		for _, want := range o.events() {
			if i == len(stream) || !reflect.DeepEqual(stream[i].Body, want) {
				return fmt.Errorf("the events of %v before %d are not what it wrote", o, i+1)
			}
			i++
		}
		w.writes = append(w.writes, write{Op: o, seq: store.Seq(i)})
	}
	for _, o := range w.ops {
		if err := w.claim(o, seen[o]); err != nil {
			return err
		}
	}
	return nil
}

// claim holds what a caller was told about its events against whether they are there.
func (w *witness) claim(o *Op, there bool) error {
	switch {
	case !o.Known():
		if there {
			w.found.Happened++
		}
	case there && !o.wrote():
		return fmt.Errorf("the events of a refused call are there: %v", o)
	case !there && o.wrote() && len(o.events()) > 0:
		return fmt.Errorf("the events of a successful call are missing: %v", o)
	}
	return nil
}

// wrote reports whether a call was told that it changed the session.
func (o *Op) wrote() bool {
	switch d := o.Did.(type) {
	case Updates:
		_, ok := d.Outcome.(store.Updated)
		return ok
	case Appends:
		_, ok := d.Outcome.(store.Appended)
		return ok
	case Reads, Acquires, Renews, Releases:
	}
	return false
}

func mark(body store.EventBody) string {
	switch b := body.(type) {
	case store.RefEvent:
		return b.Reason
	case store.NoticeEvent:
		return b.Message
	case store.DeltaEvent:
		return b.Delta
	case store.ProgressEvent:
		return b.Progress.Text
	}
	return ""
}

// replay makes the writes in the order of the stream, which must be one that real time allows.
func (w *witness) replay() error {
	w.found.Writes = len(w.writes)
	var latest *Op // of those before, the one called last
	for i, o := range w.writes {
		if latest != nil && o.Return < latest.Call {
			return fmt.Errorf("the stream has %v after %v, which was called when the former had returned", o, latest)
		}
		if latest == nil || o.Call > latest.Call {
			latest = o.Op
		}
		if seq, ok := o.told(); ok && seq != o.seq {
			return fmt.Errorf("the last event has number %d: %v", o.seq, o)
		}
		d, ok := o.Did.(Updates)
		if !ok {
			continue
		}
		if m := w.mismatch(d.Updates, i); m != nil {
			return fmt.Errorf("number %d moved %s from %s, where it was not: %v", o.seq, m.Name, m.Actual.Short(), o)
		}
		for _, u := range d.Updates {
			if u.From != u.To {
				w.versions[u.Name] = append(w.versions[u.Name], version{after: i + 1, oid: u.To})
			}
		}
	}
	return nil
}

// told returns the sequence number that a successful call was told.
func (o *Op) told() (store.Seq, bool) {
	if !o.Known() {
		return 0, false
	}
	switch d := o.Did.(type) {
	case Updates:
		u, ok := d.Outcome.(store.Updated)
		return u.Seq, ok
	case Appends:
		a, ok := d.Outcome.(store.Appended)
		return a.Seq, ok
	case Reads, Acquires, Renews, Releases:
	}
	return 0, false
}

// mismatch returns the first of updates whose ref is not at its From after so many writes.
func (w *witness) mismatch(updates []store.Update, writes int) *store.UpdateConflict {
	for _, u := range updates {
		if actual := w.at(u.Name, writes); actual != u.From {
			return &store.UpdateConflict{Name: u.Name, Actual: actual}
		}
	}
	return nil
}

// at returns where a ref is after so many writes.
func (w *witness) at(name ref.Name, writes int) object.OID {
	list := w.versions[name]
	i, _ := slices.BinarySearchFunc(list, writes+1, func(v version, n int) int { return cmp.Compare(v.after, n) })
	if i == 0 {
		return object.OID{}
	}
	return list[i-1].oid
}
