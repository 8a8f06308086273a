package kernel

import (
	"github.com/stepwell-dev/stepwell/internal/lru"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// DefaultContexts is how many commits the contexts of a host hold together, unless it says otherwise.
const DefaultContexts = 1 << 16

// Contexts remember what the heads that stepped last were read to, so that a hot loop reads only what is new. They are a cache of immutable
// objects: a head that is forgotten is read again. Sessions may share one, which bounds the memory of them all. It is safe for
// concurrent use.
type Contexts struct {
	commits int64
	cache   *lru.Cache[headKey, view.Context]
}

// A headKey is a head of one handle, so that a session that was deleted lends nothing to a later one of its id.
type headKey struct {
	session *Session
	head    string
}

// NewContexts returns a cache for contexts of so many commits in all. The newest context is kept however long it is.
func NewContexts(commits int) *Contexts {
	return &Contexts{int64(commits), lru.New[headKey, view.Context](int64(commits))}
}

func (c *Contexts) put(key headKey, v view.Context) {
	c.cache.Add(key, v, min(int64(len(v.Commits))+1, c.commits))
}

func (c *Contexts) get(key headKey) view.Context {
	v, _ := c.cache.Get(key)
	return v
}
