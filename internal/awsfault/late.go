package awsfault

import (
	"context"
	"net/http"
	"sync"
)

// A delivery is a request that its sender takes for lost.
type delivery struct {
	req     *http.Request
	request Request
	after   int // how many more requests come before it
}

// late holds requests back. It is safe for concurrent use.
type late struct {
	mu   sync.Mutex
	held []*delivery
}

func (l *late) add(req *http.Request, r Request, after int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, &delivery{req.Clone(context.WithoutCancel(req.Context())), r, after})
}

// due counts one more request and returns what arrives before it.
func (l *late) due() []*delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now, later []*delivery
	for _, d := range l.held {
		if d.after--; d.after < 0 {
			now = append(now, d)
		} else {
			later = append(later, d)
		}
	}
	l.held = later
	return now
}
