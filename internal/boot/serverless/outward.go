package serverless

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

const (
	// maxOutward is how long the events of one batch may take: a bus that hangs does not take the time of the next batch's wakes.
	maxOutward = 10 * time.Second
	// toAnswer is what is left of the invocation then, to say which record to come back to.
	toAnswer = time.Second
)

// publishing has what happens in sessions published, where a bus is configured.
func (a *app) publishing(l Links) error {
	if a.config.EventBus == "" {
		return nil
	}
	if l.Bus == nil {
		return fmt.Errorf("%s names the bus %s: %w", EnvEventBus, a.config.EventBus, errNotLinked)
	}
	a.publisher = &eventbus.Publisher{Sink: l.Bus(a.clients.Config, a.config.EventBus, a.log), Open: a.openIncarnation, Logger: a.log}
	return nil
}

// outward publishes what the records of a batch tell others, and returns the number of the record to come back to, if there is one.
func (a *app) outward(ctx context.Context, batch []events.DynamoDBEventRecord) string {
	var changes []eventbus.Change
	packs := map[dynstore.SessionKey][]events.DynamoDBEventRecord{}
	for _, r := range batch {
		if k, ok := dynstore.ParsePackKey(stringOf(r.Change.Keys, "p"), stringOf(r.Change.Keys, "s")); ok && r.Change.NewImage != nil {
			packs[k] = append(packs[k], r)
		}
	}
	for _, r := range batch {
		k, ok := dynstore.ParseControlKey(stringOf(r.Change.Keys, "p"), stringOf(r.Change.Keys, "s"))
		if !ok {
			continue
		}
		c, ok, err := changeOf(k, r, func(c *dynstore.Change) { a.fill(ctx, c, k.Tenant, packs[k]) })
		if err != nil {
			a.passOver(ctx, r, err)
		}
		if ok && err == nil {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return ""
	}
	end := a.now().Add(maxOutward)
	if d, ok := ctx.Deadline(); ok && d.Add(-toAnswer).Before(end) {
		end = d.Add(-toAnswer)
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	record, err := a.publisher.Publish(ctx, changes)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelError, "publishing events failed", slog.String("record", record), slog.Any("error", err))
	}
	return record
}

// fill adds to a change what is in packs that came with it. What is not is read by whoever needs it.
func (a *app) fill(ctx context.Context, c *dynstore.Change, tenant string, records []events.DynamoDBEventRecord) {
	if len(records) == 0 {
		return
	}
	host, err := a.hosts.tenant(ctx, tenant)
	if err != nil {
		return
	}
	var packs []dynstore.Pack
	for _, r := range records {
		if p, err := host.store.ReadPack(attributes(r.Change.NewImage)); err == nil {
			packs = append(packs, p)
		}
	}
	c.Fill(packs)
}

// changeOf reads a record of a control item; ok is false when it tells of no event. Fill is asked for events that the record does not have.
func changeOf(k dynstore.SessionKey, r events.DynamoDBEventRecord, fill func(*dynstore.Change)) (c eventbus.Change, ok bool, err error) {
	c = eventbus.Change{
		Record: r.Change.SequenceNumber, Origin: eventbus.Origin{Tenant: k.Tenant, Session: apiID(k.Session), Incarnation: k.Incarnation},
		At: object.Millis(r.Change.ApproximateCreationDateTime.UnixMilli()),
	}
	before, after := r.Change.OldImage, r.Change.NewImage
	switch events.DynamoDBOperationType(r.EventName) {
	case events.DynamoDBOperationTypeRemove:
		c.Deleted = true
		return c, true, nil
	case events.DynamoDBOperationTypeInsert:
		before = nil
	case events.DynamoDBOperationTypeModify:
		if before == nil {
			return c, false, errors.New("it has no image from before: the stream must have both")
		}
	default:
		return c, false, nil
	}
	read, err := dynstore.ReadChange(attributes(before), attributes(after))
	if err != nil || read.Upto == read.After {
		return c, false, err
	}
	if read.Known > read.After+1 {
		fill(&read)
	}
	c.After, c.Known, c.Upto, c.Moves = int64(read.After), int64(read.Known), int64(read.Upto), moves(read.Moves)
	return c, true, nil
}

// moves returns the ref events among events.
func moves(all []store.Event) []eventbus.Move {
	var out []eventbus.Move
	for _, e := range all {
		if m, ok := e.Body.(store.RefEvent); ok {
			out = append(out, eventbus.Move{Seq: int64(e.Seq), At: e.At, Name: m.Name, From: m.From, To: m.To})
		}
	}
	return out
}

// passOver logs a record that can never be read, so that the stream goes on.
func (a *app) passOver(ctx context.Context, r events.DynamoDBEventRecord, err error) {
	a.log.LogAttrs(ctx, slog.LevelError, "a stream record was passed over", slog.String("record", r.Change.SequenceNumber), slog.Any("error", err))
}

// openIncarnation opens the sessions that records tell of.
func (a *app) openIncarnation(ctx context.Context, o eventbus.Origin) (eventbus.Session, error) {
	host, err := a.hosts.tenant(ctx, o.Tenant)
	if err != nil {
		return nil, err
	}
	s, err := host.store.OpenIncarnation(dynstore.SessionKey{Tenant: o.Tenant, Session: store.SessionID(o.Session), Incarnation: o.Incarnation})
	if err != nil {
		return nil, err
	}
	return incarnation{s}, nil
}

// An incarnation is a session as its events ask for it.
type incarnation struct{ store.Session }

var _ eventbus.Session = incarnation{}

// Moves implements [eventbus.Session].
func (s incarnation) Moves(ctx context.Context, after, upto int64) ([]eventbus.Move, error) {
	var out []eventbus.Move
	for after < upto {
		page, err := s.ReadEvents(ctx, store.Seq(after), int(upto-after))
		if err != nil {
			return nil, lost(err)
		}
		if len(page) == 0 {
			return nil, eventbus.ErrGone // the stream tells of events that the table does not have
		}
		after = int64(page[len(page)-1].Seq)
		out = append(out, moves(page)...)
	}
	return out, nil
}

// Objects implements [eventbus.Session].
func (s incarnation) Objects(ctx context.Context, oids ...object.OID) ([]object.Object, error) {
	objs, err := s.GetObjects(ctx, oids)
	return objs, lost(err)
}

// Effects implements [eventbus.Session].
func (s incarnation) Effects(ctx context.Context, run string) (map[string]object.OID, error) {
	refs, err := s.ListRefs(ctx, ref.RunEffects(run))
	if err != nil {
		return nil, lost(err)
	}
	out := make(map[string]object.OID, len(refs))
	for _, r := range refs {
		parsed, err := ref.Parse(r.Name)
		if e, ok := parsed.(ref.EffectRef); ok && err == nil {
			out[e.Call] = r.OID
		}
	}
	return out, nil
}

// lost tells of what is gone as the publisher knows it.
func lost(err error) error {
	var expired *store.CursorExpiredError
	if errors.Is(err, store.ErrUnknownSession) || errors.As(err, &expired) {
		return errors.Join(eventbus.ErrGone, err)
	}
	return err
}
