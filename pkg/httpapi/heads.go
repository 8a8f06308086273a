package httpapi

import (
	"net/http"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (h *Handler) listHeads(w http.ResponseWriter, r *http.Request) error {
	o := api.SessionOptions{SessionID: api.SessionID(r.PathValue("id"))}
	if err := firstError(newQuery(r).err, o.Validate()); err != nil {
		return err
	}
	heads, err := h.svc.ListHeads(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, list[api.HeadInfo]{heads})
}

func (h *Handler) getHead(w http.ResponseWriter, r *http.Request) error {
	o := api.SessionOptions{SessionID: api.SessionID(r.PathValue("id"))}
	if err := firstError(newQuery(r).err, o.Validate()); err != nil {
		return err
	}
	heads, err := h.svc.ListHeads(r.Context(), o)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head.Head == r.PathValue("head") {
			// No 304 here: the run may have changed while the tip, which is what the tag is for, has not.
			w.Header().Set("ETag", headTag(head.Tip))
			return outcome(w, head)
		}
	}
	return api.ErrHeadNotFound
}

func (h *Handler) createHead(w http.ResponseWriter, r *http.Request) error {
	var o api.CreateHeadOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.CreateHead(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

// moveHead answers a failed expectation of the body with the outcome moved_since, and one of the header with 412.
func (h *Handler) moveHead(w http.ResponseWriter, r *http.Request) error {
	var o api.MoveHeadOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID), fromPath(&o.Head, r.PathValue("head"), "/head")); err != nil {
		return err
	}
	byHeader, err := ifMatch(r, &o.Expect)
	if err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.MoveHead(r.Context(), o)
	if err != nil {
		return err
	}
	if since, moved := out.(api.MovedSince); moved && byHeader {
		w.Header().Set("ETag", headTag(since.Tip))
		return &api.PreconditionError{Head: o.Head, Tip: since.Tip}
	}
	return outcome(w, out)
}

func (h *Handler) deleteHead(w http.ResponseWriter, r *http.Request) error {
	var body attribution
	if err := h.readBody(w, r, &body); err != nil {
		return err
	}
	o := api.DeleteHeadOptions{SessionID: api.SessionID(r.PathValue("id")), Head: r.PathValue("head"), Actor: actor(r, body.Actor)}
	if _, err := ifMatch(r, &o.Expect); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.DeleteHead(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) mergeHead(w http.ResponseWriter, r *http.Request) error {
	var o api.MergeHeadOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID), fromPath(&o.Head, r.PathValue("head"), "/head")); err != nil {
		return err
	}
	if _, err := ifMatch(r, &o.Expect); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.MergeHead(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) advanceBase(w http.ResponseWriter, r *http.Request) error {
	var o api.AdvanceBaseOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID), fromPath(&o.Head, r.PathValue("head"), "/head")); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.AdvanceBase(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}
