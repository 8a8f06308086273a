package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A change is a checked and encoded update, so that applying it cannot fail halfway.
type change struct {
	objects []object.Encoded
	writes  []store.Update
	events  [][]byte // the ref events of writes, then the caller's
}

// prepare checks an update's shape and encodes its events.
func prepare(updates []store.Update, opts store.UpdateOptions) (change, error) {
	if err := store.CheckUpdate(updates, opts); err != nil {
		return change{}, err
	}
	c := change{objects: opts.Objects}
	var bodies []store.EventBody
	for _, u := range updates {
		if u.From == u.To {
			continue
		}
		c.writes = append(c.writes, u)
		bodies = append(bodies, store.RefEvent{Name: u.Name, From: u.From, To: u.To, Reason: opts.Reason, Actor: opts.Actor})
	}
	events, err := encodeEvents(append(bodies, opts.Events...))
	c.events = events
	return c, err
}

// apply makes c true. The caller holds the lock, or is the only one to know r.
func (r *repository) apply(c change, now store.Millis) {
	r.put(c.objects, now)
	for _, u := range c.writes {
		if u.To.IsZero() {
			delete(r.refs, u.Name)
		} else {
			r.refs[u.Name] = u.To
		}
	}
	r.append(c.events, now)
}

// UpdateRefs implements [store.RefWriter].
func (s *session) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	c, err := prepare(updates, opts)
	if err != nil {
		return nil, err
	}
	var out store.UpdateOutcome
	err = s.update(ctx, func(r *repository, now store.Millis) error {
		if opts.Lease != nil && !r.holds(*opts.Lease) {
			out = store.Fenced{}
			return nil
		}
		for _, u := range updates {
			if actual := r.refs[u.Name]; actual != u.From {
				out = store.UpdateConflict{Name: u.Name, Actual: actual}
				return nil
			}
		}
		r.apply(c, now)
		if opts.Renew != 0 {
			r.renew(opts.Lease.Name, opts.Renew, now)
		}
		if opts.Release {
			r.release(opts.Lease.Name)
		}
		out = store.Updated{Seq: r.last}
		return nil
	})
	return out, err
}

// ReadRefs implements [store.RefReader].
func (s *session) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	var oids []object.OID
	err := s.view(ctx, func(r *repository) error {
		oids = make([]object.OID, len(names))
		for i, n := range names {
			oids[i] = r.refs[n]
		}
		return nil
	})
	return oids, err
}

// ListRefs implements [store.RefReader].
func (s *session) ListRefs(ctx context.Context, prefix string) ([]store.Ref, error) {
	var refs []store.Ref
	err := s.view(ctx, func(r *repository) error {
		for name, oid := range r.refs {
			if strings.HasPrefix(string(name), prefix) {
				refs = append(refs, store.Ref{Name: name, OID: oid})
			}
		}
		return nil
	})
	slices.SortFunc(refs, func(a, b store.Ref) int { return cmp.Compare(a.Name, b.Name) })
	return refs, err
}
