package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// ErrInjected is the error of a call that a plan failed.
var ErrInjected = errors.New("injected fault")

// ErrKilled is the error of every call after the death of a [Faulty] store.
var ErrKilled = errors.New("process killed")

// A Faulty is a store that fails by plan. It numbers every call of itself and of its sessions, from 1, and does at a call what was
// planned for its number. Wrap each handle of a backend on its own to model several processes.
//
// At each call it runs the before hooks, holds the call at a before gate, applies a before fault, makes the call, runs the
// after hooks, holds the call at an after gate, and applies an after fault. A watch is numbered when its iteration begins; it is
// before its first item and after it.
type Faulty struct {
	inner store.Store
	dead  chan struct{} // closed at death

	mu     sync.Mutex // guards everything below
	calls  []Call
	faults map[int]Moment
	next   []*oneShot
	gates  []*Gate
	hooks  []hook
	killN  int // 0: lives for ever
	killAt Moment
	killed bool
}

type oneShot struct {
	at    Moment
	match func(Call) bool
}

type hook struct {
	at Moment
	f  func(Call)
}

// NewFaulty returns a store that passes every call to s until something is planned.
func NewFaulty(s store.Store) *Faulty {
	return &Faulty{inner: s, dead: make(chan struct{}), faults: map[int]Moment{}}
}

// FailBefore plans that call n fails with [ErrInjected] and has no effect.
func (f *Faulty) FailBefore(n int) { f.fail(n, Before) }

// FailAfter plans that call n takes effect and then fails with [ErrInjected]: its outcome is unknown to the caller.
func (f *Faulty) FailAfter(n int) { f.fail(n, After) }

func (f *Faulty) fail(n int, at Moment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[n] = at
}

// FailNext plans that the next matching call fails with [ErrInjected], before or after it takes effect.
func (f *Faulty) FailNext(at Moment, match func(Call) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, &oneShot{at: at, match: match})
}

// Gate plans that the next matching call is held, before or after it takes effect. One gate holds one call; a call that two
// gates match is held by the older.
func (f *Faulty) Gate(at Moment, match func(Call) bool) *Gate {
	g := &Gate{at: at, match: match, arrived: make(chan Call, 1), opened: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates = append(f.gates, g)
	return g
}

// Hook plans that fn runs at every call, before or after it takes effect, in the caller's goroutine. It may use other handles
// on the same data to act in between.
func (f *Faulty) Hook(at Moment, fn func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = append(f.hooks, hook{at: at, f: fn})
}

// Kill plans the death of this handle's process at call n, before or after that call takes effect. Call n and every later one
// fail with [ErrKilled], and so do watches and held calls. The data stay, for another handle to find.
func (f *Faulty) Kill(n int, at Moment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killN, f.killAt = n, at
}

// KillNow ends this handle's process between two calls, as [Faulty.Kill] describes. A call in flight may still take effect.
func (f *Faulty) KillNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.die()
}

// Dead is closed when the process of this handle has died.
func (f *Faulty) Dead() <-chan struct{} { return f.dead }

func (f *Faulty) isDead() bool {
	select {
	case <-f.dead:
		return true
	default:
		return false
	}
}

// Calls returns every call so far in order of number, also those that failed.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Count returns how many calls there were so far.
func (f *Faulty) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// die is called with the lock held.
func (f *Faulty) die() {
	if !f.killed {
		f.killed = true
		close(f.dead)
	}
}

// begin numbers and records c.
func (f *Faulty) begin(c Call) (Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.N = len(f.calls) + 1
	c.Names = slices.Clone(c.Names)
	f.calls = append(f.calls, c)
	if f.killN > 0 && c.N > f.killN {
		f.die() // although call killN may still be in flight
	}
	if f.killed {
		return c, fault(ErrKilled, Before, c)
	}
	return c, nil
}

// pass takes c through one of its moments: hooks, gate, faults.
func (f *Faulty) pass(ctx context.Context, at Moment, c Call) error {
	f.mu.Lock()
	hooks := slices.Clone(f.hooks)
	f.mu.Unlock()
	for _, h := range hooks {
		if h.at == at {
			h.f(c)
		}
	}
	if g := f.gateFor(at, c); g != nil {
		g.arrived <- c
		select {
		case <-g.opened:
		case <-f.dead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.faultFor(at, c)
}

func (f *Faulty) gateFor(at Moment, c Call) *Gate {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.gates {
		if !g.taken && g.at == at && g.match(c) {
			g.taken = true
			return g
		}
	}
	return nil
}

func (f *Faulty) faultFor(at Moment, c Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.N == f.killN && at == f.killAt {
		f.die()
	}
	last := c.N == f.killN && f.killAt == After && at == Before // takes effect, whatever came after it
	if f.killed && !last {
		return fault(ErrKilled, at, c)
	}
	if f.faults[c.N] == at {
		return fault(ErrInjected, at, c)
	}
	for i, o := range f.next {
		if o.at == at && o.match(c) {
			f.next = slices.Delete(f.next, i, i+1)
			return fault(ErrInjected, at, c)
		}
	}
	return nil
}

func fault(err error, at Moment, c Call) error { return fmt.Errorf("%s %s: %w", at, c, err) }

// do makes one call by plan. It is a function because methods have no type parameters.
func do[T any](ctx context.Context, f *Faulty, c Call, call func() (T, error)) (T, error) {
	var zero T
	c, err := f.begin(c)
	if err == nil {
		err = f.pass(ctx, Before, c)
	}
	if err != nil {
		return zero, err
	}
	v, err := call()
	if ferr := f.pass(ctx, After, c); ferr != nil {
		return zero, ferr
	}
	return v, err
}
