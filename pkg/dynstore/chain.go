package dynstore

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Chain implements [store.ObjectReader]. It fetches what the objects list, level by level, and then follows the parents in memory; where they
// lead elsewhere it fetches and goes on from there.
func (s *session) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	w := &walk{repo: s.repo, stop: stop, have: map[object.OID]*cached{}}
	var chain []store.Entry
	for next := from; !next.IsZero() && next != stop && len(chain) < limit; {
		b := w.have[next]
		if b == nil {
			if err := w.spread(ctx, next, limit-len(chain)); err != nil {
				return nil, fmt.Errorf("walking from %s: %w", from.Short(), err)
			}
			if b = w.have[next]; b == nil {
				break
			}
		}
		o, err := s.verify(next, b)
		if err != nil {
			return nil, fmt.Errorf("walking from %s: %w", from.Short(), err)
		}
		chain = append(chain, store.Entry{OID: next, Object: o})
		next = object.Parent(o)
	}
	if len(chain) == 0 && !from.IsZero() && from != stop && limit > 0 {
		return nil, s.exists(ctx)
	}
	return chain, nil
}

// A walk is what one Chain has fetched.
type walk struct {
	repo *repo
	stop object.OID
	have map[object.OID]*cached
}

// spread fetches an object and what is listed from there on, up to a number of steps.
func (w *walk) spread(ctx context.Context, from object.OID, reach int) error {
	type reached struct {
		oid  object.OID
		step int
	}
	asked := map[object.OID]bool{}
	for frontier := []reached{{from, 0}}; len(frontier) > 0; {
		oids := make([]object.OID, len(frontier))
		for i, f := range frontier {
			oids[i] = f.oid
		}
		found, err := w.repo.fetch(ctx, oids)
		if err != nil {
			return err
		}
		var next []reached
		for _, f := range frontier {
			b := found[f.oid]
			if b == nil {
				continue
			}
			w.have[f.oid] = b
			for i, oid := range b.link.ancestors {
				step := f.step + b.link.distance(i)
				if oid == w.stop {
					reach = min(reach, step)
				}
				if step < reach && !asked[oid] && w.have[oid] == nil {
					asked[oid] = true
					next = append(next, reached{oid, step})
				}
			}
		}
		frontier = next
	}
	return nil
}
