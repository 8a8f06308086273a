package httpapi

import (
	"net/http"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (h *Handler) tree(w http.ResponseWriter, r *http.Request) error {
	o, err := headQuery(r)
	if err := firstError(err, o.Validate()); err != nil {
		return err
	}
	t, err := h.svc.Tree(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, t)
}

func (h *Handler) refs(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "prefix")
	o := api.RefsOptions{SessionID: api.SessionID(r.PathValue("id")), Prefix: q.text("prefix")}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	refs, err := h.svc.Refs(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, list[api.RefInfo]{refs})
}

func (h *Handler) reflog(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "ref", "limit")
	o := api.ReflogOptions{SessionID: api.SessionID(r.PathValue("id")), Ref: q.text("ref"), Limit: q.limit()}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	entries, err := h.svc.Reflog(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, list[api.ReflogEntry]{entries})
}

// object answers with the canonical bytes themselves, so that anyone can hash them. They never change.
func (h *Handler) object(w http.ResponseWriter, r *http.Request) error {
	oid, err := pathOID(r, "oid")
	o := api.ObjectOptions{SessionID: api.SessionID(r.PathValue("id")), OID: oid}
	if err := firstError(err, newQuery(r).err, o.Validate()); err != nil {
		return err
	}
	stored, err := h.svc.Object(r.Context(), o)
	if err != nil {
		return err
	}
	return writeTagged(w, r, `"`+oid.String()+`"`, "private, max-age=31536000, immutable", []byte(stored.Body))
}

func (h *Handler) fsck(w http.ResponseWriter, r *http.Request) error {
	var o api.SessionOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	report, err := h.svc.Fsck(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, report)
}

func (h *Handler) trim(w http.ResponseWriter, r *http.Request) error {
	var o api.TrimOptions
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	report, err := h.svc.Trim(r.Context(), o)
	if err != nil {
		return err
	}
	return outcome(w, report)
}

// collect requires graceMs: a missing one must not mean a grace period of zero.
func (h *Handler) collect(w http.ResponseWriter, r *http.Request) error {
	var o struct {
		SessionID api.SessionID `json:"sessionId,omitzero"`
		GraceMS   *int64        `json:"graceMs"`
	}
	if err := firstError(h.readBody(w, r, &o), sessionOf(r, &o.SessionID)); err != nil {
		return err
	}
	if o.GraceMS == nil {
		return api.Invalid("/graceMs", "is missing; say how old, in milliseconds, an unprotected object must be")
	}
	opts := api.CollectOptions{SessionID: o.SessionID, GraceMS: *o.GraceMS}
	if err := opts.Validate(); err != nil {
		return err
	}
	report, err := h.svc.Collect(r.Context(), opts)
	if err != nil {
		return err
	}
	return outcome(w, report)
}
