package awsfault

import (
	"math/rand/v2"
	"sync"
)

// Always is a Fault's Times that does not end.
const Always = -1

// A Fault is an effect and the requests that meet it: those that Op and Match let through and that the service could
// answer so, and of those the ones from the Nth on, or each with Probability.
type Fault struct {
	// What happens.
	What Effect
	// Op is the operation, "" for any.
	Op string
	// Match narrows the requests down further where it is set.
	Match func(Request) bool
	// Nth is the first request that is hit, from 1. Zero means 1, unless there is a Probability.
	Nth int
	// Times is how many requests are hit at most, in a row where Nth counts them. Zero means one, or, with a Probability,
	// Always.
	Times int
	// Probability is how often a request is hit, from 0 to 1.
	Probability float64
	// Burst is how many requests in a row are hit once Probability chose one. Zero means one.
	Burst int
}

// A Plan is a list of faults. The first one that hits a request decides; all of them count it.
type Plan []Fault

// Kill returns the plan of a process that ends at its nth request, before or after that was carried out: no later one
// reaches the service. Clients under it should not wait between retries.
func Kill(nth int, after bool) Plan {
	if !after {
		return Plan{{What: LoseRequest{}, Nth: nth, Times: Always}}
	}
	return Plan{{What: LoseResponse{}, Nth: nth}, {What: LoseRequest{}, Nth: nth + 1, Times: Always}}
}

// Storm returns a plan in which whatever a caller must outlast happens, each with probability p, and throttling in bursts.
// It takes no time and delivers nothing late.
func Storm(p float64) Plan {
	plan := Plan{{What: Throttle{}, Probability: p, Burst: 3}}
	for _, e := range []Effect{
		Conflict{},
		InProgress{},
		LoseRequest{},
		LoseResponse{},
		Stale{},
		Unprocessed{},
		S3Conflict{},
		S3Busy{},
		Cancel{Codes: []string{"ThrottlingError"}},
	} {
		plan = append(plan, Fault{What: e, Probability: p})
	}
	return plan
}

// A player decides by a plan. It is safe for concurrent use.
type player struct {
	mu     sync.Mutex
	random *rand.Rand
	plan   Plan
	seen   []int // how many requests each fault could have hit
	hit    []int
	burst  []int // how many of the next ones are hit as part of a burst
}

func newPlayer(seed uint64) *player {
	return &player{random: rand.New(rand.NewPCG(seed, 0))}
}

func (p *player) set(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(plan)
	p.plan, p.seen, p.hit, p.burst = plan, make([]int, n), make([]int, n), make([]int, n)
}

// decide returns what happens to r, nil for nothing.
func (p *player) decide(r Request) Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	var effect Effect
	for i, f := range p.plan {
		if f.Op != "" && f.Op != r.Op || !applies(f.What, r) || f.Match != nil && !f.Match(r) {
			continue
		}
		p.seen[i]++
		if effect == nil && p.hits(i, f) {
			p.hit[i]++
			effect = f.What
		}
	}
	return effect
}

func (p *player) hits(i int, f Fault) bool {
	if f.Probability > 0 {
		switch {
		case f.Times > 0 && p.hit[i] >= f.Times, p.seen[i] < f.Nth:
			return false
		case p.burst[i] > 0:
			p.burst[i]--
			return true
		case p.random.Float64() >= f.Probability:
			return false
		}
		p.burst[i] = max(f.Burst-1, 0)
		return true
	}
	first := max(f.Nth, 1)
	return p.seen[i] >= first && (f.Times == Always || p.seen[i] < first+max(f.Times, 1))
}
