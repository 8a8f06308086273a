package storetest

import "sync"

// A Gate holds one call of a [Faulty] store until it is released.
type Gate struct {
	at      Moment
	match   func(Call) bool
	taken   bool // guarded by the mu of the Faulty
	arrived chan Call
	opened  chan struct{}
	once    sync.Once
}

// Wait blocks until the call has arrived at the gate, and returns it. It may be called once.
func (g *Gate) Wait() Call { return <-g.arrived }

// Release lets the call go on; a call that has not arrived yet will not stop. Releasing twice is harmless.
func (g *Gate) Release() { g.once.Do(func() { close(g.opened) }) }
