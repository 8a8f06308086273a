package cloudtest_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// A cost is what something takes: serial round trips, and units by the published rules.
type cost struct {
	Trips         int
	Writes, Reads float64
}

func (c cost) String() string {
	return fmt.Sprintf("%d round trips, %g write units, %g read units, $%.2f per million", c.Trips, c.Writes, c.Reads, c.dollars()*1e6)
}

// dollars is what it costs on demand in us-east-1: $0.625 a million write units, $0.125 a million read units.
func (c cost) dollars() float64 { return (0.625*c.Writes + 0.125*c.Reads) / 1e6 }

func (c cost) plus(d cost) cost {
	return cost{c.Trips + d.Trips, c.Writes + d.Writes, c.Reads + d.Reads}
}

// A rig has one session in a table of its own, and processes on it whose requests are counted.
type rig struct {
	*testing.T

	cloud   emulator.Endpoint
	name    string // of the table and the bucket
	clock   *storetest.Clock
	player  *scripted.Player
	tools   *tool.Set
	flushed chan struct{} // has one for each append of text by any process
	// unwatched leaves out what a step in flight reads to learn of others, which nothing waits for.
	unwatched bool
}

func newRig(t *testing.T, tools ...tool.Tool) *rig {
	t.Helper()
	cloud := emulator.Start(t)
	if !cloud.Emulated {
		t.Skip("what a write finds is read beside it, with requests that only an emulator takes unsigned")
	}
	r := &rig{
		T: t, cloud: cloud, name: emulator.Name(t), clock: storetest.NewClock(), tools: kerneltest.Must(tool.NewSet(tools...))(t),
		flushed: make(chan struct{}, 1000),
	}
	r.player = scripted.Play().Clock(r.clock.Now)
	if err := dynstore.CreateTable(t.Context(), cloud.DynamoDB(), r.name); err != nil {
		t.Fatal(err)
	}
	if err := s3objects.CreateBucket(t.Context(), cloud.S3(), r.name, cloud.Config().Region); err != nil {
		t.Fatal(err)
	}
	kerneltest.Must(r.process().store.CreateSession(t.Context(), store.CreateOptions{ID: kerneltest.Session}))(t)
	return r
}

// A process has a store, and a host over it.
type process struct {
	*rig
	*awsfault.Transport

	store store.Store
	host  *sdk.Stepwell
	turn  *agent.Turn
}

// process starts another process, which remembers nothing.
func (r *rig) process() *process {
	r.Helper()
	p := &process{rig: r, Transport: awsfault.New(r.cloud.Transport(), awsfault.Options{Probe: true})}
	through := emulator.WithTransport(p.Transport)
	st, err := dynstore.New(dynstore.Options{
		Client: r.cloud.DynamoDB(through), Table: r.name, Now: r.clock.Now, Poll: time.Hour, // no request depends on how time passes
		Bodies: s3objects.New(s3objects.Options{Client: r.cloud.S3(through), Bucket: r.name}),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = st.Close() })
	p.store = flushing{st, r}
	models, model := llm.NewCatalog(r.player), r.player.Models()[0].Model
	p.turn = agent.New(agent.Options{Models: models, DefaultModel: model, Tools: r.tools})
	p.host, err = sdk.New(sdk.Options{Store: p.store, Models: models, DefaultModel: model, Tools: r.tools, Now: r.clock.Now})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = p.host.Close() })
	return p
}

// open returns a handle on the session that remembers nothing.
func (p *process) open() *kernel.Session {
	p.Helper()
	return kernel.New(kerneltest.Must(p.store.OpenSession(p.Context(), kerneltest.Session))(p.T), &kernel.Options{Now: p.clock.Now})
}

func (p *process) options() kernel.StepOptions {
	return kernel.StepOptions{Head: sdk.DefaultHead, Landing: sdk.DefaultLanding(), Turn: p.turn, Resolve: p.turn.Resolve}
}

// measure returns what do takes.
func (p *process) measure(do func()) cost {
	p.Helper()
	p.Reset()
	do()
	c := p.Counts()
	return cost{c.RoundTrips, c.WriteUnits, c.ReadUnits}
}

// atMost prints what something costs and holds it to that.
func (r *rig) atMost(what string, most, got cost) measured {
	r.Helper()
	r.Logf("%-64s %v", what, got)
	if got.Trips > most.Trips || got.Writes > most.Writes || got.Reads > most.Reads {
		r.Errorf("%s: %v; want at most %v", what, got, most)
	}
	return measured{what, got}
}

// A measured operation has a cost.
type measured struct {
	what string
	cost
}

// within prints by how much an operation misses its budget of round trips.
func (m measured) within(r *rig, trips int) {
	r.Helper()
	if m.Trips > trips {
		r.Logf("%-64s is %d over its budget of %d round trips", m.what, m.Trips-trips, trips)
	}
}

// submit submits a message of 1 KB, once for each key.
func (p *process) submit(s *kernel.Session, key string) {
	p.Helper()
	out := kerneltest.Must(s.Submit(p.Context(), kernel.SubmitOptions{
		Head: sdk.DefaultHead, Lane: sdk.QueueLane, Key: "device-1/" + key,
		Body: object.MessageBody{Message: message.NewUser(prose(185, uint32(len(key))), 5)},
	}))(p.T)
	if _, ok := out.(kernel.Queued); !ok {
		p.Fatalf("submitting: %#v", out)
	}
}

// send does so through the SDK.
func (p *process) send(key string) {
	p.Helper()
	out := kerneltest.Must(p.host.Send(p.Context(), api.SendOptions{
		SessionID: api.SessionID(kerneltest.Session), Content: api.Text(prose(185, uint32(len(key)))), Key: "device-2/" + key,
	}))(p.T)
	if _, ok := out.(api.Queued); !ok {
		p.Fatalf("sending: %#v", out)
	}
}

func (p *process) step(s *kernel.Session) kernel.StepOutcome {
	p.Helper()
	p.clock.Advance(time.Second)
	return kerneltest.Must(s.Step(p.Context(), p.options()))(p.T)
}

// phase returns the word of the run's phase.
func (p *process) phase(s *kernel.Session) string {
	p.Helper()
	oids := kerneltest.Must(s.ReadRefs(p.Context(), ref.Run(sdk.DefaultHead)))(p.T)
	o, _, err := s.GetObject(p.Context(), oids[0])
	run, ok := o.(object.Run)
	if err != nil || !ok {
		p.Fatalf("the run is %#v, %v", o, err)
	}
	return object.PhaseName(run.Phase)
}

func encoded(t *testing.T, o object.Object) object.Encoded {
	t.Helper()
	return kerneltest.Must(object.Encode(o))(t)
}

// A flushing store tells of text that was appended.
type flushing struct {
	store.Store

	rig *rig
}

// OpenSession implements [store.Store].
func (f flushing) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	s, err := f.Store.OpenSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return flushingSession{s, f.rig}, nil
}

type flushingSession struct {
	store.Session

	rig *rig
}

// AppendEvents implements [store.EventWriter].
func (f flushingSession) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	out, err := f.Session.AppendEvents(ctx, bodies, lease)
	for _, b := range bodies {
		if d, ok := b.(store.DeltaEvent); ok && d.Part == store.TextPart {
			f.rig.flushed <- struct{}{}
		}
	}
	return out, err
}

// WatchEvents implements [store.EventReader].
func (f flushingSession) WatchEvents(ctx context.Context, after store.Seq) iter.Seq2[store.Event, error] {
	if !f.rig.unwatched {
		return f.Session.WatchEvents(ctx, after)
	}
	return func(func(store.Event, error) bool) { <-ctx.Done() }
}
