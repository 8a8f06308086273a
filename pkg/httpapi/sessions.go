package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

func (h *Handler) landing(w http.ResponseWriter, r *http.Request) error {
	l, err := h.svc.Landing(r.Context())
	if err != nil {
		return err
	}
	return outcome(w, l)
}

func (h *Handler) createSession(w http.ResponseWriter, r *http.Request) error {
	var o api.CreateSessionOptions
	if err := firstError(h.readBody(w, r, &o), idempotencyKey(r, &o.Key)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.CreateSession(r.Context(), o)
	if err != nil {
		return err
	}
	if _, exists := out.(api.SessionExists); exists && o.Key != "" {
		replayed(w)
	}
	return outcome(w, out)
}

func (h *Handler) listSessions(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "owner", "cursor", "limit")
	o := api.ListSessionsOptions{Owner: q.text("owner"), Cursor: q.text("cursor"), Limit: q.limit()}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	page, err := h.svc.ListSessions(r.Context(), o)
	if err != nil {
		return err
	}
	if page.HasMore {
		next := url.Values{"cursor": {page.Next}}
		if o.Owner != "" {
			next.Set("owner", o.Owner)
		}
		if o.Limit > 0 {
			next.Set("limit", strconv.Itoa(o.Limit))
		}
		w.Header().Set("Link", "<"+r.URL.Path+"?"+next.Encode()+`>; rel="next"`)
	}
	return outcome(w, page)
}

func (h *Handler) getSession(w http.ResponseWriter, r *http.Request) error {
	o := api.SessionOptions{SessionID: api.SessionID(r.PathValue("id"))}
	if err := firstError(newQuery(r).err, o.Validate()); err != nil {
		return err
	}
	info, err := h.svc.GetSession(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, info)
}

// patchSession changes what is given, one after the other: a failure in between leaves the earlier ones changed.
func (h *Handler) patchSession(w http.ResponseWriter, r *http.Request) error {
	var p struct {
		Name     *string       `json:"name,omitzero"`
		Pinned   *bool         `json:"pinned,omitzero"`
		Archived *bool         `json:"archived,omitzero"`
		Actor    *object.Actor `json:"actor,omitzero"`
	}
	if err := h.readBody(w, r, &p); err != nil {
		return err
	}
	id, who := api.SessionID(r.PathValue("id")), actor(r, p.Actor)
	rename := api.RenameSessionOptions{SessionID: id, Actor: who}
	if p.Name != nil {
		rename.Name = *p.Name
	}
	if err := rename.Validate(); err != nil { // before anything is written
		return err
	}
	if p.Name != nil {
		if err := h.svc.RenameSession(r.Context(), rename); err != nil {
			return err
		}
	}
	if p.Pinned != nil {
		if err := h.svc.SetPinned(r.Context(), api.FlagSessionOptions{SessionID: id, On: *p.Pinned, Actor: who}); err != nil {
			return err
		}
	}
	if p.Archived != nil {
		if err := h.svc.SetArchived(r.Context(), api.FlagSessionOptions{SessionID: id, On: *p.Archived, Actor: who}); err != nil {
			return err
		}
	}
	info, err := h.svc.GetSession(r.Context(), api.SessionOptions{SessionID: id})
	if err != nil {
		return err
	}
	return outcome(w, info)
}

func (h *Handler) deleteSession(w http.ResponseWriter, r *http.Request) error {
	var body attribution
	if err := h.readBody(w, r, &body); err != nil {
		return err
	}
	o := api.DeleteSessionOptions{SessionID: api.SessionID(r.PathValue("id")), Actor: actor(r, body.Actor)}
	if err := o.Validate(); err != nil {
		return err
	}
	if err := h.svc.DeleteSession(r.Context(), o); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Handler) configure(w http.ResponseWriter, r *http.Request) error {
	var o api.ConfigureOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID), idempotencyKey(r, &o.Key)); err != nil {
		return err
	}
	o.Actor = actor(r, o.Actor)
	if err := o.Validate(); err != nil {
		return err
	}
	out, err := h.svc.Configure(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, out)
}

func (h *Handler) snapshot(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	s, err := h.svc.Snapshot(r.Context(), o)
	if err != nil {
		return err
	}
	return writeTagged(w, r, `W/"`+strconv.FormatInt(s.Seq, 10)+`"`, "private, no-cache", s)
}

// attribution is the body of a route whose options are all in its path.
type attribution struct {
	Actor *object.Actor `json:"actor,omitzero"`
}

func replayed(w http.ResponseWriter) { w.Header().Set("Idempotent-Replayed", "true") }

// firstError returns the first error.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
