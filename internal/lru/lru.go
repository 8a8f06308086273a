// Package lru is a least-recently-used cache bounded by weight.
package lru

import (
	"container/list"
	"sync"
)

// A Cache keeps the most recently used values whose weights add up to at most its limit. It may be used from many
// goroutines. The zero Cache keeps nothing; make one with [New].
type Cache[K comparable, V any] struct {
	limit int64

	mu    sync.Mutex
	used  int64
	order *list.List // of *entry, the most recently used first
	byKey map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

// New returns a cache for values of the total weight limit. A limit of zero or less keeps nothing.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, order: list.New(), byKey: make(map[K]*list.Element)}
}

// Get returns the value of key and marks it as used; ok is false when it is not kept.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Add keeps value under key, in place of an older one, and drops the least recently used values until the limit holds. A
// value heavier than the limit is not kept.
func (c *Cache[K, V]) Add(key K, value V, weight int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	if weight > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key: key, value: value, weight: weight})
	c.used += weight
	for c.used > c.limit {
		c.remove(c.order.Back().Value.(*entry[K, V]).key)
	}
}

// Remove forgets key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

// Len returns how many values are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}

func (c *Cache[K, V]) remove(key K) {
	e, ok := c.byKey[key]
	if !ok {
		return
	}
	c.order.Remove(e)
	delete(c.byKey, key)
	c.used -= e.Value.(*entry[K, V]).weight
}
