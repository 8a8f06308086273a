package awsfault

import (
	"maps"
	"sync"
)

// Counts is what a transport saw since it was made or counted anew.
type Counts struct {
	// Requests is how many requests were made, retries included, by operation.
	Requests map[string]int
	// RoundTrips is the length of the longest chain of requests of which each began after the one before had ended.
	RoundTrips int
	// WriteUnits and ReadUnits are what DynamoDB would charge for the table.
	WriteUnits, ReadUnits float64
	// IndexUnits are the write units of its secondary indexes. They are counted where Options.Probe is set.
	IndexUnits float64
	// Faults is how many requests met an effect, by its name: "loseResponse" for LoseResponse.
	Faults map[string]int
}

// Total is how many requests were made.
func (c Counts) Total() int {
	n := 0
	for _, of := range c.Requests {
		n += of
	}
	return n
}

// A counter keeps Counts. It is safe for concurrent use.
type counter struct {
	mu     sync.Mutex
	counts Counts
}

func newCounter() *counter {
	c := &counter{}
	c.reset()
	return c
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = Counts{Requests: map[string]int{}, Faults: map[string]int{}}
}

func (c *counter) snapshot() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.counts
	out.Requests, out.Faults = maps.Clone(out.Requests), maps.Clone(out.Faults)
	return out
}

// begin counts a request and returns its place in the longest chain that ends with it.
func (c *counter) begin(op string, effect Effect) (place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Requests[op]++
	if effect != nil {
		c.counts.Faults[name(effect)]++
	}
	return c.counts.RoundTrips + 1
}

// end makes the requests that begin from now on follow the one at place.
func (c *counter) end(place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.RoundTrips = max(c.counts.RoundTrips, place)
}

func (c *counter) pay(b bill) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.WriteUnits += b.write
	c.counts.ReadUnits += b.read
	c.counts.IndexUnits += b.index
}
