package storetest

import (
	"iter"
	"time"
)

// hang is how long a test waits for what must come before it calls it lost. It is far beyond any store's poll.
const hang = 30 * time.Second

// A watcher consumes a watch in a goroutine of its own. It reads no further than the test asks.
type watcher[T any] struct {
	f     *fixture
	items chan T
	end   chan error // the error that ended the watch, nil for a quiet end
}

func watch[T any](f *fixture, seq iter.Seq2[T, error]) *watcher[T] {
	w := &watcher[T]{f: f, items: make(chan T), end: make(chan error, 1)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var end error
		for v, err := range seq {
			if end != nil {
				f.Errorf("a watch went on after its error %v", end)
				break
			}
			if end = err; err != nil {
				continue
			}
			select {
			case w.items <- v:
			case <-f.Context().Done():
			}
		}
		w.end <- end
	}()
	f.Cleanup(func() { await(f, stopped, "the end of a watch with its context") })
	return w
}

// await receives from c, or fails the test when nothing comes.
func await[T any](f *fixture, c <-chan T, what string) T {
	f.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(hang):
		f.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// next returns the next n items.
func (w *watcher[T]) next(n int) []T {
	w.f.Helper()
	items := make([]T, n)
	for i := range items {
		select {
		case items[i] = <-w.items:
		case err := <-w.end:
			w.f.Fatalf("the watch ended with %v after %d items of %d", err, i, n)
		case <-time.After(hang):
			w.f.Fatalf("waited in vain for item %d of %d", i+1, n)
		}
	}
	return items
}

// rest gives the watch time to go to sleep, so that what follows has to wake it. What a test asserts does not depend on it: a
// watch that is still awake must do the same.
func (w *watcher[T]) rest() {
	w.f.Helper()
	select {
	case v := <-w.items:
		w.f.Errorf("the watch gave %v, which nobody wrote", v)
	case err := <-w.end:
		w.f.Errorf("the watch ended with %v by itself", err)
		w.end <- err
	case <-time.After(20 * time.Millisecond):
	}
}

// ended returns what ended the watch. Items that were on their way are let go.
func (w *watcher[T]) ended() error {
	w.f.Helper()
	for {
		select {
		case <-w.items:
		case err := <-w.end:
			return err
		case <-time.After(hang):
			w.f.Fatal("waited in vain for the end of a watch")
		}
	}
}
