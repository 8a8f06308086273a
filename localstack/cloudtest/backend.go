package cloudtest

import (
	"context"
	"hash/fnv"
	"sync"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// Options say what the processes of a backend meet.
type Options struct {
	// Faults is what every process meets from its first request on.
	Faults awsfault.Plan
	// Seed decides what happens with a probability. Each process has the next one.
	Seed uint64
	// Poll is how often a watch looks for what other processes wrote; 20 ms when zero.
	Poll time.Duration
	// Pause makes attempts wait for each other in real time. Without it they follow at once.
	Pause bool
}

// A Backend is the sessions of one tenant. It is a [storetest.Backend], safe for concurrent use.
type Backend struct {
	cloud  *cloud
	tenant string
	clock  *storetest.Clock
	opts   Options

	mu        sync.Mutex
	processes []*Process
}

// Open opens sessions in the cloud, without faults. It is a [storetest.Opener].
func Open(t testing.TB, clock *storetest.Clock) storetest.Backend {
	t.Helper()
	return New(t, clock, Options{})
}

// stormy is how likely each request meets each fault of [OpenUnderFaults].
const stormy = 0.02

// OpenUnderFaults opens sessions in the cloud where every process meets whatever a caller must outlast, the same in every run of a test. It is
// a [storetest.Opener].
func OpenUnderFaults(t testing.TB, clock *storetest.Clock) storetest.Backend {
	t.Helper()
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(t.Name())) // it never fails
	return New(t, clock, Options{Faults: awsfault.Storm(stormy), Seed: seed.Sum64()})
}

// New returns the backend of a test.
func New(t testing.TB, clock *storetest.Clock, opts Options) *Backend {
	t.Helper()
	if opts.Poll == 0 {
		opts.Poll = 20 * time.Millisecond
	}
	return &Backend{cloud: start(t), tenant: emulator.Name(t), clock: clock, opts: opts}
}

// Open implements [storetest.Backend].
func (b *Backend) Open(t testing.TB) store.Store {
	t.Helper()
	return b.Process(t)
}

// Process opens the store as another process does.
func (b *Backend) Process(t testing.TB) *Process {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Process{Transport: awsfault.New(b.cloud.Transport(), awsfault.Options{
		Plan: b.opts.Faults, Seed: b.opts.Seed + uint64(len(b.processes)),
	})}
	through := emulator.WithTransport(p.Transport)
	wait := hurry
	if b.opts.Pause {
		wait = nil
	}
	s, err := dynstore.New(dynstore.Options{
		Client: b.cloud.DynamoDB(through), Table: b.cloud.name, Tenant: b.tenant, Now: b.clock.Now, Poll: b.opts.Poll, Sleep: wait,
		Bodies: s3objects.New(s3objects.Options{
			Client: b.cloud.S3(through), Bucket: b.cloud.name, Prefix: b.tenant + "/", Sleep: wait,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Store = s
	b.processes = append(b.processes, p)
	return p
}

// Last returns the process that was opened last.
func (b *Backend) Last() *Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.processes[len(b.processes)-1]
}

// Faults returns what all processes met, by the effect's name.
func (b *Backend) Faults() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	met := map[string]int{}
	for _, p := range b.processes {
		for name, n := range p.Counts().Faults {
			met[name] += n
		}
	}
	return met
}

// A Process is a store with a transport of its own.
type Process struct {
	*dynstore.Store
	*awsfault.Transport
}

// Meet makes the process meet the faults of a plan, numbered from its next request on.
func (p *Process) Meet(plan awsfault.Plan) {
	p.Reset()
	p.Play(plan)
}

// Met reports whether the process met any of them.
func (p *Process) Met() bool { return len(p.Counts().Faults) > 0 }

// hurry does not wait.
func hurry(ctx context.Context, _ time.Duration) error {
	return ctx.Err()
}
