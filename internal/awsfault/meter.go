package awsfault

import (
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

const (
	writeUnit = 1 << 10
	readUnit  = 4 << 10
)

// A bill is what one request costs, in units.
type bill struct{ write, read, index float64 }

// A meter works out what requests cost.
type meter struct {
	table *tables // nil without probes

	mu     sync.Mutex
	tokens map[string]bool // of transactions that were carried out
}

func newMeter(next http.RoundTripper, probe bool) *meter {
	m := &meter{tokens: map[string]bool{}}
	if probe {
		m.table = &tables{next: next, known: map[string]*table{}}
	}
	return m
}

// A change is one item before and after a write; nil where there is none or it is not known.
type change struct{ old, new item }

// before returns the items that r is going to write.
func (m *meter) before(req *http.Request, r Request) []change {
	writes := r.writes()
	changes := make([]change, len(writes))
	if m.table == nil || len(writes) == 0 {
		return changes
	}
	found := m.table.items(req, writes)
	for i := range changes {
		changes[i].old = found[i]
	}
	return changes
}

// refused is what r costs when a condition or a conflict stops it.
func (m *meter) refused(req *http.Request, r Request) bill {
	return m.failed(r, m.before(req, r))
}

func (m *meter) failed(r Request, changes []change) bill {
	var b bill
	for i, w := range r.writes() {
		b.write += factor(r) * units(max(changes[i].old.size(), w.size()), writeUnit)
	}
	if r.Op == "TransactGetItems" {
		b.read = 2 * float64(len(r.call.TransactItems))
	}
	return b
}

// after is what r cost, given its answer.
func (m *meter) after(req *http.Request, r Request, changes []change, status int, answer []byte) bill {
	switch {
	case status != http.StatusOK && conditional(answer):
		return m.failed(r, changes)
	case status != http.StatusOK:
		return bill{}
	case len(changes) == 0:
		return reads(r, answer)
	case m.replay(r):
		return bill{read: 2 * float64(len(changes))}
	}
	return m.written(req, r, changes)
}

func (m *meter) written(req *http.Request, r Request, changes []change) bill {
	writes := r.writes()
	var updated []item
	if m.table != nil {
		updated = m.table.items(req, writes)
	}
	var b bill
	for i, w := range writes {
		c := changes[i]
		switch {
		case w.check:
			c.new = c.old
		case w.item != nil:
			c.new = w.item
		case m.table != nil:
			c.new = updated[i]
		}
		size := max(c.old.size(), c.new.size())
		if m.table == nil {
			size = max(size, w.size())
		}
		b.write += factor(r) * units(size, writeUnit)
		if m.table != nil {
			b.index += m.table.indexUnits(req, w.table, c)
		}
	}
	return b
}

// size is the least that the item of a write has, as far as the request shows it.
func (w write) size() int { return max(w.item.size(), w.key.size()+item(w.values).size()) }

// replay reports whether r is a transaction that was carried out before, and remembers it.
func (m *meter) replay(r Request) bool {
	token := r.call.ClientRequestToken
	if token == "" || r.Op != "TransactWriteItems" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	again := m.tokens[token]
	m.tokens[token] = true
	return again
}

// factor is what a transaction multiplies units by.
func factor(r Request) float64 {
	if r.transaction() {
		return 2
	}
	return 1
}

// conditional reports whether an error is of the kind that is paid like the write it stopped.
func conditional(answer []byte) bool {
	var e struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(answer, &e) != nil {
		return false
	}
	_, kind, ok := strings.Cut(e.Type, "#")
	if !ok {
		kind = e.Type
	}
	return kind == "ConditionalCheckFailedException" || kind == "TransactionCanceledException" || kind == "TransactionConflictException"
}
