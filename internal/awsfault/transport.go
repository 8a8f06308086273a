package awsfault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Options say how a transport plays and counts.
type Options struct {
	// Plan is what it begins with.
	Plan Plan
	// Seed decides what happens with a probability.
	Seed uint64
	// Probe counts units from the items as they are before and after each write, which it reads besides, uncounted. That
	// takes an endpoint that checks no signatures. Without it, what an update or a deletion finds is not counted.
	Probe bool
	// Sleep waits for d or until ctx is done, and returns why it is. It defaults to real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Transport plays faults and counts. It is safe for concurrent use.
type Transport struct {
	next    http.RoundTripper
	sleep   func(ctx context.Context, d time.Duration) error
	player  *player
	counter *counter
	answers *answers
	meter   *meter
	late    late
}

// New returns a transport that sends requests through next.
func New(next http.RoundTripper, opts Options) *Transport {
	t := &Transport{
		next: next, sleep: opts.Sleep,
		player: newPlayer(opts.Seed), counter: newCounter(), answers: newAnswers(opts.Seed), meter: newMeter(next, opts.Probe),
	}
	if t.sleep == nil {
		t.sleep = sleep
	}
	t.player.set(opts.Plan)
	return t
}

// Play replaces the plan and begins it: requests are numbered from here.
func (t *Transport) Play(plan Plan) { t.player.set(plan) }

// Counts returns what was counted so far. A request that has not ended is in Requests only.
func (t *Transport) Counts() Counts { return t.counter.snapshot() }

// Reset counts from zero again. No request should be under way.
func (t *Transport) Reset() { t.counter.reset() }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := read(req)
	if err != nil {
		return nil, err
	}
	for _, due := range t.late.due() {
		// Nobody waits for it any more, so neither its answer nor its failure reaches anyone.
		_, _, _ = t.send(due.req, due.request)
	}
	effect := t.player.decide(r)
	place := t.counter.begin(r.Op, effect)
	defer func() { t.counter.end(place) }()
	return t.play(req, r, effect)
}

// play carries out r under an effect.
func (t *Transport) play(req *http.Request, r Request, effect Effect) (*http.Response, error) {
	switch e := effect.(type) {
	case nil:
	case Cancel:
		t.counter.pay(t.meter.refused(req, r))
		return cancel(req, len(r.call.TransactItems), e.Codes...)
	case Conflict:
		t.counter.pay(t.meter.refused(req, r))
		if r.transaction() {
			return cancel(req, len(r.call.TransactItems), "TransactionConflict")
		}
		return refuse(req, "TransactionConflictException", "Transaction is ongoing for the item")
	case InProgress:
		return refuse(req, "TransactionInProgressException", "A transaction with the given client request token is in progress.")
	case Throttle:
		return refuse(req, "ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.")
	case S3Conflict:
		return refuseS3(req, http.StatusConflict, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting operation against this resource.")
	case S3Busy:
		return refuseS3(req, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	case LoseRequest:
		return nil, errRefused()
	case LoseResponse:
		if _, _, err := t.send(req, r); err != nil {
			return nil, err
		}
		return nil, errReset()
	case Late:
		if e.After <= 0 {
			return t.play(req, r, LoseResponse{})
		}
		t.late.add(req, r, e.After)
		return nil, errReset()
	case Slow:
		return t.playSlow(req, r, e)
	case Stale:
		return respondJSON(req, http.StatusOK, t.answers.past(r))
	case Unprocessed:
		return t.playUnprocessed(req, r)
	case Gate:
		if e.Before != nil {
			e.Before()
		}
		if e.After != nil {
			defer e.After()
		}
	}
	resp, _, err := t.send(req, r)
	return resp, err
}

func (t *Transport) playSlow(req *http.Request, r Request, e Slow) (*http.Response, error) {
	if err := t.sleep(req.Context(), e.Before); err != nil {
		return nil, err
	}
	resp, _, err := t.send(req, r)
	if err != nil {
		return nil, err
	}
	if err := t.sleep(req.Context(), e.After); err != nil {
		return nil, err
	}
	return resp, nil
}

func (t *Transport) playUnprocessed(req *http.Request, r Request) (*http.Response, error) {
	body, rest, err := halve(r)
	if err != nil {
		return nil, fmt.Errorf("splitting the %s: %w", r.Op, err)
	}
	half, err := read(message(req, body))
	if err != nil {
		return nil, err
	}
	resp, answer, err := t.send(req, half)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if answer, err = handBack(r, answer, rest); err != nil {
		return nil, fmt.Errorf("splitting the %s: %w", r.Op, err)
	}
	return respond(req, http.StatusOK, resp.Header.Get("Content-Type"), answer), nil
}

// send carries out r, counts what it costs, and returns the response with its body read and readable.
func (t *Transport) send(req *http.Request, r Request) (*http.Response, []byte, error) {
	before := t.meter.before(req, r)
	resp, err := t.next.RoundTrip(message(req, r.Body))
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if r.Service == DynamoDB {
		t.counter.pay(t.meter.after(req, r, before, resp.StatusCode, body))
		if resp.StatusCode == http.StatusOK {
			t.answers.keep(r, body)
		}
	}
	return resp, body, nil
}

// sleep waits in real time.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
