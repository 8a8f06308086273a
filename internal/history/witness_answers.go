package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// answers finds for every answer that tells of refs a moment in the stream when it was true: not before a write that had returned when
// the call began, not after one that began when the call had returned, and not before the moment of an earlier answer. The earliest such
// moment leaves the most room to later ones, so when it is taken in the order of calls, a history is refused only if there is no way.
func (w *witness) answers() error {
	var byCall []*answer
	for _, o := range w.ops {
		if o.tells() {
			byCall = append(byCall, &answer{Op: o})
		}
	}
	w.found.Answers = len(byCall)
	slices.SortFunc(byCall, func(a, b *answer) int { return cmp.Compare(a.Call, b.Call) })
	byReturn := slices.SortedFunc(slices.Values(byCall), func(a, b *answer) int { return cmp.Compare(a.Return, b.Return) })
	w.bound(byReturn)

	returned := make([]int, len(w.writes)) // the writes, by return
	for i := range returned {
		returned[i] = i
	}
	slices.SortFunc(returned, func(a, b int) int { return cmp.Compare(w.writes[a].Return, w.writes[b].Return) })
	least, nextWrite, nextAnswer := 0, 0, 0
	for _, a := range byCall {
		for ; nextWrite < len(returned) && w.writes[returned[nextWrite]].Return < a.Call; nextWrite++ {
			least = max(least, returned[nextWrite]+1)
		}
		for ; nextAnswer < len(byReturn) && byReturn[nextAnswer].Return < a.Call; nextAnswer++ {
			least = max(least, byReturn[nextAnswer].moment)
		}
		a.moment = least
		for a.moment <= a.most && !w.fits(a.Op, a.moment) {
			a.moment++
		}
		if a.moment > a.most {
			return fmt.Errorf("never true between %d and %d writes: %v", least, a.most, a)
		}
	}
	return nil
}

// An answer is true after moment writes, and could be so after most of them at the latest.
type answer struct {
	*Op

	moment, most int
}

// bound sets the most of each answer: the number of writes before the first that began after it.
func (w *witness) bound(byReturn []*answer) {
	called := make([]int, len(w.writes)) // the writes, those called last first
	for i := range called {
		called[i] = i
	}
	slices.SortFunc(called, func(a, b int) int { return cmp.Compare(w.writes[b].Call, w.writes[a].Call) })
	most, next := len(w.writes), 0
	for _, a := range slices.Backward(byReturn) {
		for ; next < len(called) && w.writes[called[next]].Call > a.Return; next++ {
			most = min(most, called[next])
		}
		a.most = most
	}
}

// tells reports whether an answer says something about the refs at one moment. A successful write does so too, and is in the stream.
func (o *Op) tells() bool {
	if !o.Known() {
		return false
	}
	switch d := o.Did.(type) {
	case Reads:
		return true
	case Updates:
		switch d.Outcome.(type) {
		case store.UpdateConflict:
			return true
		case store.Updated:
			return len(o.events()) == 0
		case store.Fenced:
		}
	case Acquires, Renews, Releases, Appends:
	}
	return false
}

// fits reports whether what o tells was so after so many writes.
func (w *witness) fits(o *Op, writes int) bool {
	switch d := o.Did.(type) {
	case Reads:
		for i, name := range d.Names {
			if w.at(name, writes) != d.OIDs[i] {
				return false
			}
		}
		return len(d.OIDs) == len(d.Names)
	case Updates:
		m := w.mismatch(d.Updates, writes)
		switch out := d.Outcome.(type) {
		case store.UpdateConflict:
			return m != nil && *m == out
		case store.Updated:
			return m == nil && out.Seq == w.seqAfter(writes)
		case store.Fenced:
		}
	case Acquires, Renews, Releases, Appends:
	}
	return false
}

func (w *witness) seqAfter(writes int) store.Seq {
	if writes == 0 {
		return 0
	}
	return w.writes[writes-1].seq
}
