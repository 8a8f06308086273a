package cloudtest

import (
	"context"
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
	wait := p.hurry
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

// Kill ends the process at its nth request from here on, before or after that is carried out.
func (p *Process) Kill(n int, at storetest.Moment) {
	p.Reset()
	p.Play(awsfault.Kill(n, at == storetest.After))
}

// Killed reports whether the process came to its end.
func (p *Process) Killed() bool {
	met := p.Counts().Faults
	return met["loseRequest"]+met["loseResponse"] > 0
}

// hurry does not wait. A process that has ended does not try again either.
func (p *Process) hurry(ctx context.Context, _ time.Duration) error {
	return ctx.Err()
}
