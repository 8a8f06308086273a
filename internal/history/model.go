package history

import (
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// The most refs and leases of a history that [Linearizable] judges.
const (
	MaxRefs   = 8
	MaxLeases = 4
)

// Linearizable checks that for each session there is an order of the calls, each at one moment between its call and its return, in which a
// model of refs and leases gives the same answers. The sessions were new and empty. The margin is how long after its expiry a lease
// of the store still holds others off. No verdict within the timeout is an error too.
func Linearizable(ops []Op, margin store.Duration, timeout time.Duration) error {
	m := &model{
		margin: store.Millis(margin.Milliseconds()), granted: map[string]bool{},
		refs: map[ref.Name]int{}, leases: map[ref.Name]int{},
	}
	calls := make([]porcupine.Operation, len(ops))
	for i := range ops {
		m.learn(&ops[i])
		calls[i] = porcupine.Operation{ClientId: ops[i].Client, Input: &ops[i], Call: ops[i].Call, Return: ops[i].Return}
	}
	if len(m.refs) > MaxRefs || len(m.leases) > MaxLeases {
		return fmt.Errorf("the history is unfit: it has %d refs and %d leases, at most %d and %d can be judged",
			len(m.refs), len(m.leases), MaxRefs, MaxLeases)
	}
	switch porcupine.CheckOperationsTimeout(m.porcupine(), calls, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("no order explains the %d calls", len(ops))
	case porcupine.Unknown:
	}
	return fmt.Errorf("no verdict on %d calls within %v", len(ops), timeout)
}

// A model is what a session does one call at a time.
type model struct {
	margin  store.Millis
	granted map[string]bool // owners that some caller knows to be its own
	refs    map[ref.Name]int
	leases  map[ref.Name]int
}

// A state is a session between two calls.
type state struct {
	refs   [MaxRefs]object.OID
	leases [MaxLeases]modelLease
}

// A modelLease is the newest grant of a name; the owner is empty when it is released or there was none.
type modelLease struct {
	owner string
	fence int64
	// What the caller was not told is a range.
	least, most store.Millis
}

// somebody owns a lease whose grant was not answered. Its fence is the least it can be.
const somebody = "?"

// learn numbers the names of a call.
func (m *model) learn(o *Op) {
	number := func(table map[ref.Name]int, name ref.Name) {
		if _, ok := table[name]; !ok {
			table[name] = len(table)
		}
	}
	if l := o.lease(); l != nil {
		number(m.leases, l.Name)
	}
	switch d := o.Did.(type) {
	case Updates:
		for _, u := range d.Updates {
			number(m.refs, u.Name)
		}
	case Reads:
		for _, name := range d.Names {
			number(m.refs, name)
		}
	case Acquires:
		number(m.leases, d.Name)
		if out, ok := d.Outcome.(store.Acquired); ok && o.Known() {
			m.granted[out.Lease.Owner] = true
		}
	case Renews, Releases, Appends:
	}
}

func (m *model) porcupine() porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return state{} },
		Step: func(s, input, _ any) (bool, any) {
			before, ok := s.(state)
			o, isOp := input.(*Op)
			if !ok || !isOp {
				return false, s
			}
			after, ok := m.step(before, o)
			return ok, after
		},
		Hash: func(s any) uint64 { return maphash.Comparable(seed, s) },
	}
}

// partition separates the sessions.
func partition(calls []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	index := map[store.SessionID]int{}
	for _, c := range calls {
		o, ok := c.Input.(*Op)
		if !ok {
			continue
		}
		i, ok := index[o.Session]
		if !ok {
			i = len(parts)
			index[o.Session] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], c)
	}
	return parts
}

// step makes the call o, and reports whether it can have its answer. One whose outcome is unknown may have any; that it did not happen is
// that it happens after all others.
func (m *model) step(s state, o *Op) (state, bool) {
	holds := true
	var lease *modelLease
	if l := o.lease(); l != nil {
		lease = &s.leases[m.leases[l.Name]]
		holds = l.Owner != "" && lease.owner == l.Owner && lease.fence == l.Fence
	}
	if o.Known() && lease != nil && holds != (o.verdict() == held) {
		return s, false
	}
	if !holds {
		return s, true
	}
	switch d := o.Did.(type) {
	case Updates:
		m := m.mismatch(&s, d.Updates)
		if o.Known() {
			if out, conflict := d.Outcome.(store.UpdateConflict); conflict != (m != nil) || conflict && out != *m {
				return s, false
			}
		}
		if m != nil {
			return s, true
		}
	case Reads:
		for i, name := range d.Names {
			if d.OIDs[i] != s.refs[m.refs[name]] {
				return s, false
			}
		}
	case Acquires:
		return m.acquire(s, o, d)
	case Renews, Releases, Appends:
	}
	return m.write(s, o, lease), true
}

func (m *model) mismatch(s *state, updates []store.Update) *store.UpdateConflict {
	for _, u := range updates {
		if actual := s.refs[m.refs[u.Name]]; actual != u.From {
			return &store.UpdateConflict{Name: u.Name, Actual: actual}
		}
	}
	return nil
}

// write returns the state after a call that nothing stands against. The lease is that of s.
func (m *model) write(s state, o *Op, lease *modelLease) state {
	if d, ok := o.Did.(Updates); ok {
		for _, u := range d.Updates {
			s.refs[m.refs[u.Name]] = u.To
		}
	}
	if lease == nil {
		return s
	}
	l := *lease
	if ttl := store.Millis(o.renews().Milliseconds()); ttl > 0 {
		l.least, l.most = o.Earliest+ttl, math.MaxInt64
		if o.Known() {
			l.most = o.Latest + ttl
		}
		if d, ok := o.Did.(Renews); ok && o.Known() {
			l.least, l.most = d.Renewed.ExpiresAt, d.Renewed.ExpiresAt
		}
	}
	if o.releases() {
		l = modelLease{fence: l.fence}
	}
	s.leases[m.leases[o.lease().Name]] = l
	return s
}

func (m *model) acquire(s state, o *Op, d Acquires) (state, bool) {
	l := &s.leases[m.leases[d.Name]]
	free := l.owner == "" || o.Latest >= l.least+m.margin
	if !o.Known() {
		if free {
			*l = modelLease{owner: somebody, fence: l.fence + 1, least: o.Earliest + store.Millis(d.TTL.Milliseconds()), most: math.MaxInt64}
		}
		return s, true
	}
	switch out := d.Outcome.(type) {
	case store.Acquired:
		if !free || out.Lease.Fence <= l.fence || out.Takeover != (l.owner != "") {
			return s, false
		}
		*l = modelLease{owner: out.Lease.Owner, fence: out.Lease.Fence, least: out.Lease.ExpiresAt, most: out.Lease.ExpiresAt}
		return s, true
	case store.Held:
		h := out.Holder
		known := l.owner == h.Owner && l.fence == h.Fence
		guess := l.owner == somebody && l.fence <= h.Fence && !m.granted[h.Owner]
		if !known && !guess || h.ExpiresAt < l.least || h.ExpiresAt > l.most || h.ExpiresAt+m.margin <= o.Earliest {
			return s, false
		}
		*l = modelLease{owner: h.Owner, fence: h.Fence, least: h.ExpiresAt, most: h.ExpiresAt}
		return s, true
	}
	return s, false
}

// Sessions returns the calls of each session.
func Sessions(ops []Op) map[store.SessionID][]Op {
	parts := map[store.SessionID][]Op{}
	for _, o := range ops {
		parts[o.Session] = append(parts[o.Session], o)
	}
	return parts
}
