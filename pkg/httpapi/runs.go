package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (h *Handler) step(w http.ResponseWriter, r *http.Request) error {
	var o api.HeadOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Step(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) currentRun(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	run, err := h.svc.CurrentRun(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, struct {
		Run *api.RunInfo `json:"run,omitzero"`
	}{run})
}

// waitRun answers as soon as the head is idle or waiting, and with 504 after the timeout, which the run does not notice.
func (h *Handler) waitRun(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "head", "timeout")
	o := api.HeadOptions{SessionID: api.SessionID(r.PathValue("id")), Head: q.text("head")}
	limit := h.opts.MaxWait
	if s, given := q.integer("timeout"); given {
		limit = h.bounded(q, "timeout", s)
	}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), limit, api.ErrDeadline)
	defer cancel()
	stop := h.endOnClose(cancel)
	defer stop()
	out, err := h.svc.WaitRun(ctx, o)
	switch {
	case err != nil && r.Context().Err() == nil && ctx.Err() != nil:
		return api.ErrDeadline
	case err != nil:
		return err
	}
	return outcome(w, out)
}

// bounded reads a wait in seconds, at most Options.MaxWait.
func (h *Handler) bounded(q *query, name string, seconds int64) time.Duration {
	if seconds < 0 {
		q.fail(name, "is negative")
		return 0
	}
	if seconds > int64(h.opts.MaxWait/time.Second) {
		return h.opts.MaxWait
	}
	return time.Duration(seconds) * time.Second
}

// endOnClose calls cancel when the handler closes, until stop is called.
func (h *Handler) endOnClose(cancel func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-h.closed:
			cancel()
		case <-done:
		}
	}()
	return func() { close(done) }
}

func (h *Handler) abort(w http.ResponseWriter, r *http.Request) error {
	var o api.AbortOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Abort(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) reply(w http.ResponseWriter, r *http.Request) error {
	var o api.ReplyOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Reply(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) runChanges(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "head")
	o := api.RunChangesOptions{SessionID: api.SessionID(r.PathValue("id")), Head: q.text("head"), RunID: r.PathValue("run")}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	changes, err := h.svc.RunChanges(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, changes)
}

func (h *Handler) context(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	status, err := h.svc.Context(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, status)
}

func (h *Handler) usage(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	sum, err := h.svc.Usage(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, sum)
}
