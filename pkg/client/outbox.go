package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Sender submits messages; an [api.Service] is one.
type Sender interface {
	Send(ctx context.Context, opts api.SendOptions) (api.SendReceipt, error)
}

// A Row is a message that is not known to be durable yet. Its options hold the key, which never changes.
type Row struct {
	Options api.SendOptions `json:"options"`
	At      message.Millis  `json:"at"` // when it was written
	// Refused is why the service will never take it as it is. It is not tried again; a person corrects or discards it.
	Refused string `json:"refused,omitzero"`
}

// Key returns the row's submission key.
func (r Row) Key() string { return r.Options.Key }

// Rows keep an outbox's rows across restarts. A write is durable when it returns.
type Rows interface {
	// Load returns all rows in the order in which they were first put.
	Load(ctx context.Context) ([]Row, error)
	// Put adds a row, or replaces the one of the same key.
	Put(ctx context.Context, row Row) error
	// Remove removes the row of a key, if there is one.
	Remove(ctx context.Context, key string) error
}

// OutboxOptions configure an [Outbox]. The zero value of each is its default.
type OutboxOptions struct {
	// Delivered is called when a row has become durable, with the receipt that names its change.
	Delivered func(Row, api.SendReceipt)
	// Failed is called for every failed attempt. When row.Refused is set it was the last one.
	Failed func(row Row, err error)
	// Backoff is the first pause after a failure; it doubles up to MaxBackoff. Defaults: 500 ms, 30 s.
	Backoff, MaxBackoff time.Duration
	// Attempt bounds one attempt. Default: 30 s.
	Attempt time.Duration
	// NewKey mints a key. Default: a UUIDv7.
	NewKey func() (string, error)
	// Now is the clock. Default: the wall clock.
	Now func() time.Time
}

// An Outbox closes the gap between Enter and a durable receipt: it keeps each message under one key and sends it with that
// key until the answer is queued or duplicate, which both prove that it is durable, or until it is discarded (invariant
// 40). Rows go out in order, one at a time, so that what a person said first also lands first.
type Outbox struct {
	to   Sender
	rows Rows
	opts OutboxOptions

	wake chan struct{} // holds one token when there may be work

	mu   sync.Mutex
	list []Row
}

// OpenOutbox returns an outbox over the rows that are still there from before. Nil options are the defaults. Nothing is
// sent before [Outbox.Run].
func OpenOutbox(ctx context.Context, to Sender, rows Rows, opts *OutboxOptions) (*Outbox, error) {
	b := &Outbox{to: to, rows: rows, wake: make(chan struct{}, 1)}
	if opts != nil {
		b.opts = *opts
	}
	b.opts.setDefaults()
	list, err := rows.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	b.list = list
	b.nudge()
	return b, nil
}

func (o *OutboxOptions) setDefaults() {
	if o.Delivered == nil {
		o.Delivered = func(Row, api.SendReceipt) {}
	}
	if o.Failed == nil {
		o.Failed = func(Row, error) {}
	}
	if o.Backoff == 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 30 * time.Second
	}
	if o.Attempt == 0 {
		o.Attempt = 30 * time.Second
	}
	if o.NewKey == nil {
		o.NewKey = func() (string, error) {
			id, err := uuid.NewV7()
			return id.String(), err
		}
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one default of the injected clock
	}
}

// Enqueue keeps a message and returns its row, which a client draws at once. It mints a key when there is none. When it
// returns an error the message is not kept.
func (b *Outbox) Enqueue(ctx context.Context, o api.SendOptions) (Row, error) {
	o.Content = o.Content.Clean()
	if o.Key == "" {
		key, err := b.opts.NewKey()
		if err != nil {
			return Row{}, fmt.Errorf("minting a key: %w", err)
		}
		o.Key = key
	}
	if err := o.Validate(); err != nil {
		return Row{}, err
	}
	row := Row{Options: o, At: message.MillisOf(b.opts.Now())}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.index(o.Key) >= 0 {
		return Row{}, api.Invalid("/key", "is the key of a message that is already in the outbox")
	}
	if err := b.rows.Put(ctx, row); err != nil {
		return Row{}, fmt.Errorf("keeping the message: %w", err)
	}
	b.list = append(b.list, row)
	b.nudge()
	return row, nil
}

// Discard forgets a row and reports whether it was there. A row that was on its way may have arrived all the same; then it
// is a pending change like any other.
func (b *Outbox) Discard(ctx context.Context, key string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drop(ctx, key)
}

// Rows returns the rows that are not known to be durable, oldest first.
func (b *Outbox) Rows() []Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// Run sends rows until ctx ends, which is its only error besides one of the rows' keeper. One Run at a time.
func (b *Outbox) Run(ctx context.Context) error {
	for {
		if err := b.Flush(ctx); err != nil {
			return err
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Flush sends rows until none is left that can be sent. It retries for as long as ctx lives.
func (b *Outbox) Flush(ctx context.Context) error {
	pause := backoff{first: b.opts.Backoff, most: b.opts.MaxBackoff}
	for {
		row, ok := b.head()
		if !ok {
			return nil
		}
		receipt, err := b.attempt(ctx, row)
		if err == nil {
			pause.reset()
			b.mu.Lock()
			_, err = b.drop(ctx, row.Key())
			b.mu.Unlock()
			if err != nil {
				return err
			}
			b.opts.Delivered(row, receipt)
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if refused(err) {
			if err := b.refuse(ctx, &row, err); err != nil {
				return err
			}
			b.opts.Failed(row, err)
			continue
		}
		b.opts.Failed(row, err)
		var e *Error
		least := time.Duration(0)
		if errors.As(err, &e) {
			least = e.RetryAfter
		}
		if !pause.pause(ctx, least) {
			return context.Cause(ctx)
		}
	}
}

func (b *Outbox) attempt(ctx context.Context, row Row) (api.SendReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Attempt)
	defer cancel()
	return b.to.Send(ctx, row.Options)
}

// refused reports whether sending the same row again can never succeed.
func refused(err error) bool {
	for _, never := range [...]error{
		api.ErrInvalid, api.ErrKeyReused, api.ErrSessionNotFound, api.ErrHeadNotFound, api.ErrForbidden,
	} {
		if errors.Is(err, never) {
			return true
		}
	}
	// Any other definite answer of a Stepwell server stays what it is, except that a token can be renewed.
	var e *Error
	return errors.As(err, &e) && e.Code != "" && e.Status >= 400 && e.Status < 500 && !e.Temporary() &&
		e.Status != http.StatusUnauthorized
}

// refuse marks a row, unless it was discarded in the meantime.
func (b *Outbox) refuse(ctx context.Context, row *Row, why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	row.Refused = why.Error()
	i := b.index(row.Key())
	if i < 0 {
		return nil
	}
	if err := b.rows.Put(ctx, *row); err != nil {
		return fmt.Errorf("keeping the message: %w", err)
	}
	b.list[i] = *row
	return nil
}

// head returns the oldest row that can be sent.
func (b *Outbox) head() (Row, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.list {
		if r.Refused == "" {
			return r, true
		}
	}
	return Row{}, false
}

func (b *Outbox) drop(ctx context.Context, key string) (bool, error) {
	i := b.index(key)
	if i < 0 {
		return false, nil
	}
	if err := b.rows.Remove(ctx, key); err != nil {
		return false, fmt.Errorf("removing a message from the outbox: %w", err)
	}
	b.list = slices.Delete(b.list, i, i+1)
	return true, nil
}

func (b *Outbox) index(key string) int {
	return slices.IndexFunc(b.list, func(r Row) bool { return r.Key() == key })
}

func (b *Outbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
