package awsfault

import (
	"math/rand/v2"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// remembered is how many answers to the same read may come back.
const remembered = 8

// answers remembers what reads were answered, to answer from the past.
type answers struct {
	mu     sync.Mutex
	random *rand.Rand
	byRead map[string][][]byte
}

func newAnswers(seed uint64) *answers {
	return &answers{random: rand.New(rand.NewPCG(seed, 1)), byRead: map[string][][]byte{}}
}

// keep remembers the answer to a read. What is read consistently now is what an eventual read may be told later.
func (a *answers) keep(r Request, answer []byte) {
	if !r.eventual() && !r.strong() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := identity(r)
	list := a.byRead[key]
	a.byRead[key] = append(list[max(0, len(list)+1-remembered):], answer)
}

// past returns an answer from the past: an earlier one, or that there is nothing.
func (a *answers) past(r Request) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.byRead[identity(r)]; len(list) > 0 {
		return jsontext.Value(list[a.random.IntN(len(list))])
	}
	switch r.Op {
	case "Query", "Scan":
		return struct {
			Items               []item
			Count, ScannedCount int
		}{Items: []item{}}
	case "BatchGetItem":
		none := map[string][]item{}
		for table := range r.reads() {
			none[table] = []item{}
		}
		return struct {
			Responses       map[string][]item
			UnprocessedKeys map[string]keyList
		}{none, map[string]keyList{}}
	}
	return struct{}{}
}

// strong reports whether r is a read that asked for consistency.
func (r Request) strong() bool {
	switch r.Op {
	case "GetItem", "Query", "Scan", "BatchGetItem":
		return !r.eventual()
	}
	return false
}

// identity is the same for reads that differ in the consistency they ask for only.
func identity(r Request) string {
	var body map[string]jsontext.Value
	if json.Unmarshal(r.Body, &body) != nil {
		return r.Op + string(r.Body)
	}
	delete(body, "ConsistentRead")
	tables := map[string]map[string]jsontext.Value{}
	if r.Op == "BatchGetItem" && json.Unmarshal(body["RequestItems"], &tables) == nil {
		for _, keys := range tables {
			delete(keys, "ConsistentRead")
		}
		delete(body, "RequestItems")
	}
	text, err := json.Marshal([]any{r.Op, body, tables}, json.Deterministic(true))
	if err != nil {
		return r.Op + string(r.Body)
	}
	return string(text)
}
