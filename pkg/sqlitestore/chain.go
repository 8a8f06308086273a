package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Chain implements [store.ObjectReader]. It walks through the cache as far as that goes and reads the rest with one statement.
func (s *session) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var chain []store.Entry
	next := from
	for !next.IsZero() && next != stop && len(chain) < limit {
		b, ok := s.store.cache.Get(cacheKey{s.key, next})
		if !ok {
			break
		}
		o, err := b.object(next)
		if err != nil {
			return nil, err
		}
		chain = append(chain, store.Entry{OID: next, Object: o})
		next = object.Parent(o)
	}
	if next.IsZero() || next == stop || len(chain) >= limit {
		return chain, nil
	}
	rest, err := s.walk(ctx, next, stop, limit-len(chain))
	if err != nil {
		return nil, fmt.Errorf("walking from %s: %w", from, err)
	}
	return append(chain, rest...), nil
}

const walkChain = `
WITH RECURSIVE chain (n, id, parent) AS (
	SELECT 1, rowid, parent FROM objects WHERE session=?1 AND oid=?2
	UNION ALL
	SELECT n+1, o.rowid, o.parent FROM chain JOIN objects o ON o.session=?1 AND o.oid=chain.parent
	WHERE n < ?3 AND chain.parent <> ?4
)
SELECT o.oid, o.codec, o.body FROM chain JOIN objects o ON o.rowid=chain.id ORDER BY n`

func (s *session) walk(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	var chain []store.Entry
	next := from
	err := s.read(ctx, func(c *conn) error {
		err := c.query(walkChain, func(row []driver.Value) error {
			oid, o, err := s.decode(row)
			if err != nil {
				return err
			}
			if oid != next { // the parent column, which is not under the hash, has led elsewhere
				return &object.CorruptError{OID: oid, Reason: fmt.Sprintf("its row is linked where %s should be", next)}
			}
			chain = append(chain, store.Entry{OID: oid, Object: o})
			next = object.Parent(o)
			return ctx.Err()
		}, s.key, from[:], int64(limit), stop[:])
		if err == nil && len(chain) == 0 {
			err = s.exists(c)
		}
		return err
	})
	return chain, err
}
