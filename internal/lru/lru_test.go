package lru_test

import (
	"testing"

	"github.com/stepwell-dev/stepwell/internal/lru"
)

func TestCache_DropsLeastRecentlyUsed(t *testing.T) {
	c := lru.New[string, int](10)
	c.Add("a", 1, 4)
	c.Add("b", 2, 4)
	if _, ok := c.Get("a"); !ok { // a is newer than b now
		t.Fatal("a is missing")
	}
	c.Add("c", 3, 4)

	if _, ok := c.Get("b"); ok {
		t.Error("b is kept; it was the least recently used")
	}
	for key, want := range map[string]int{"a": 1, "c": 3} {
		if got, ok := c.Get(key); !ok || got != want {
			t.Errorf("Get(%q) = %d, %v; want %d, true", key, got, ok, want)
		}
	}
}

func TestCache_ReplacingCountsTheWeightOnce(t *testing.T) {
	c := lru.New[string, int](10)
	for range 100 {
		c.Add("a", 1, 6)
	}
	c.Add("b", 2, 4)
	if got := c.Len(); got != 2 {
		t.Errorf("Len() = %d, want 2", got)
	}
}

func TestCache_RefusesWhatDoesNotFit(t *testing.T) {
	c := lru.New[string, int](10)
	c.Add("small", 1, 10)
	c.Add("big", 2, 11)
	if _, ok := c.Get("big"); ok {
		t.Error("a value heavier than the limit is kept")
	}
	if _, ok := c.Get("small"); !ok {
		t.Error("a value that does not fit has evicted another")
	}
}

func TestCache_Remove(t *testing.T) {
	c := lru.New[string, int](10)
	c.Add("a", 1, 10)
	c.Remove("a")
	c.Remove("a")
	c.Add("b", 2, 10)
	if _, ok := c.Get("a"); ok {
		t.Error("a is kept after Remove")
	}
	if _, ok := c.Get("b"); !ok {
		t.Error("the weight of a removed value still counts")
	}
}
