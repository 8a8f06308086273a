package memstore

import (
	"cmp"
	"slices"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// data is what all handles share.
type data struct {
	mu       sync.Mutex
	sessions map[store.SessionID]*repository
	order    []*repository // living sessions by position
	// positions has the newest position of every id that ever was, so that a list can go on after a session that is
	// gone by now.
	positions map[store.SessionID]int64
	next      int64         // position of the next session
	created   chan struct{} // closed and replaced when a session is created
}

func newData() *data {
	return &data{
		sessions:  map[store.SessionID]*repository{},
		positions: map[store.SessionID]int64{},
		next:      1,
		created:   make(chan struct{}),
	}
}

// A repository is the shared state of one session. The fields above mu never change.
type repository struct {
	id       store.SessionID
	owner    string
	position int64 // in creation order, from 1
	created  store.Millis

	mu      sync.RWMutex
	removed bool
	changed chan struct{} // closed and replaced on every append, closed for good on removal
	objects map[object.OID]*row
	refs    map[ref.Name]object.OID
	leases  map[ref.Name]grant
	events  []record  // those above the floor, in order
	last    store.Seq // newest sequence number
	floor   store.Seq // oldest valid cursor
}

func (d *data) create(id store.SessionID, owner string, now store.Millis, first change) (*repository, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.sessions[id]; taken {
		return nil, false
	}
	r := &repository{
		id: id, owner: owner, position: d.next, created: now,
		changed: make(chan struct{}),
		objects: map[object.OID]*row{},
		refs:    map[ref.Name]object.OID{},
		leases:  map[ref.Name]grant{},
	}
	r.apply(first, now)
	d.next++
	d.sessions[id] = r
	d.positions[id] = r.position
	d.order = append(d.order, r)
	close(d.created)
	d.created = make(chan struct{})
	return r, true
}

func (d *data) find(id store.SessionID) (*repository, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.sessions[id]
	return r, ok
}

func (d *data) remove(id store.SessionID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.sessions[id]
	if !ok {
		return
	}
	delete(d.sessions, id)
	d.order = slices.DeleteFunc(d.order, func(o *repository) bool { return o == r })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = true
	close(r.changed)
}

// after returns the living sessions beyond a position in creation order, and a channel that closes when there are more.
func (d *data) after(position int64) ([]*repository, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearchFunc(d.order, position+1, func(r *repository, p int64) int { return int(r.position - p) })
	return slices.Clone(d.order[i:]), d.created
}

// before returns the living sessions in front of a position, in creation order.
func (d *data) before(position int64) []*repository {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearchFunc(d.order, position, func(r *repository, p int64) int { return cmp.Compare(r.position, p) })
	return slices.Clone(d.order[:i])
}

// info returns the row of r.
func (r *repository) info() store.SessionInfo {
	return store.SessionInfo{ID: r.id, Owner: r.owner, CreatedAt: r.created}
}

func (d *data) positionOf(id store.SessionID) (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.positions[id]
	return p, ok
}
