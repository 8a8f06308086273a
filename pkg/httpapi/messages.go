package httpapi

import (
	"net/http"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (h *Handler) send(w http.ResponseWriter, r *http.Request) error {
	var o api.SendOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID), idempotencyKey(r, &o.Key)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Send(r.Context(), o)
	if err != nil {
		return err
	}
	if _, dup := out.(api.Duplicate); dup {
		replayed(w)
	}
	return outcome(w, out)
}

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request) error {
	var o api.CancelOptions
	change, err := pathOID(r, "change")
	if err := firstError(err, h.readBody(w, r, &o), sessionOf(r, &o.SessionID), fromPath(&o.Change, change, "/change")); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Cancel(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) redeliver(w http.ResponseWriter, r *http.Request) error {
	var o api.RedeliverOptions
	change, err := pathOID(r, "change")
	if err := firstError(err, h.readBody(w, r, &o), sessionOf(r, &o.SessionID), fromPath(&o.Change, change, "/change")); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Redeliver(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) listMessages(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "head", "before", "limit")
	o := api.TranscriptOptions{SessionID: api.SessionID(r.PathValue("id")), Head: q.text("head"), Before: q.oid("before"), Limit: q.limit()}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	page, err := h.svc.ListMessages(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, page)
}

func (h *Handler) pending(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	items, err := h.svc.Pending(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, list[api.PendingItem]{items})
}

// A list is the answer of a route that returns all items at once.
type list[T any] struct {
	Items []T `json:"items"`
}
