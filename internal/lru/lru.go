// Package lru is a least-recently-used cache bounded by weight.
package lru

import "sync"

// A Cache keeps the most recently used values whose weights add up to at most its limit. It may be used from many
// goroutines. Make one with [New].
type Cache[K comparable, V any] struct {
	limit int64

	mu    sync.Mutex
	used  int64
	byKey map[K]*entry[K, V]
	ring  entry[K, V] // its next is the most recently used entry, its prev the least
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	weight     int64
	prev, next *entry[K, V]
}

// New returns a cache for values of the total weight limit. A limit of zero or less keeps nothing.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	c := &Cache[K, V]{limit: limit, byKey: make(map[K]*entry[K, V])}
	c.ring.prev, c.ring.next = &c.ring, &c.ring
	return c
}

// Get returns the value of key and marks it as used; ok is false when it is not kept.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	e.unlink()
	c.pushFront(e)
	return e.value, true
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
	e := &entry[K, V]{key: key, value: value, weight: weight}
	c.byKey[key] = e
	c.pushFront(e)
	c.used += weight
	for c.used > c.limit {
		c.remove(c.ring.prev.key)
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
	return len(c.byKey)
}

func (c *Cache[K, V]) remove(key K) {
	e, ok := c.byKey[key]
	if !ok {
		return
	}
	e.unlink()
	delete(c.byKey, key)
	c.used -= e.weight
}

func (c *Cache[K, V]) pushFront(e *entry[K, V]) {
	e.prev, e.next = &c.ring, c.ring.next
	e.next.prev, c.ring.next = e, e
}

func (e *entry[K, V]) unlink() { e.prev.next, e.next.prev = e.next, e.prev }
