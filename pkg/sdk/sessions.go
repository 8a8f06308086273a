package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// The session facts that the SDK keeps.
const (
	factName     = "name"
	factPinned   = "pinned"
	factArchived = "archived"
)

// Landing returns the landing policy in force.
func (s *Stepwell) Landing(context.Context) (api.Landing, error) {
	l := api.Landing{Drain: string(s.opts.Landing.Drain)}
	for _, lane := range s.opts.Landing.Lanes {
		l.Lanes = append(l.Lanes, api.LaneInfo{Lane: lane.Lane, Lands: string(lane.Lands)})
	}
	return l, nil
}

// CreateSession makes a session, with its name in the same transaction. The id is the caller's, or follows from the key, or is new.
func (s *Stepwell) CreateSession(ctx context.Context, opts api.CreateSessionOptions) (api.CreateSessionOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	create := store.CreateOptions{ID: store.SessionID(opts.SessionID), Reason: "fact", Actor: s.actor(opts.Actor)}
	if create.Actor != nil {
		create.Owner = create.Actor.UserID
	}
	switch {
	case create.ID != "":
	case opts.Key != "":
		sum := sha256.Sum256([]byte(opts.Key))
		create.ID = store.SessionID("ses_" + hex.EncodeToString(sum[:16]))
	default:
		create.ID = newSessionID()
	}
	if opts.Name != "" {
		value, err := json.Marshal(opts.Name)
		if err != nil {
			return nil, api.Invalid("/name", "%v", err)
		}
		blob, err := object.Encode(object.Blob{Value: value})
		if err != nil {
			return nil, api.Invalid("/name", "%v", err)
		}
		create.Objects = []object.Encoded{blob}
		create.Refs = []store.Update{{Name: ref.Fact(factName), To: blob.OID}}
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	outcome, err := s.opts.Store.CreateSession(ctx, create)
	if err != nil {
		return nil, fault(err)
	}
	switch o := outcome.(type) {
	case store.SessionCreated:
		_ = o.Session.Close() // opened again below, like every other
		info, err := s.GetSession(ctx, api.SessionOptions{SessionID: api.SessionID(create.ID)})
		if err != nil {
			return nil, err
		}
		return api.SessionCreated{Session: info}, nil
	case store.SessionExists:
		info, err := s.GetSession(ctx, api.SessionOptions{SessionID: api.SessionID(create.ID)})
		if err != nil {
			return nil, err
		}
		return api.SessionExists{Session: info}, nil
	}
	panic("unreachable")
}

func (s *Stepwell) now() object.Millis { return object.Millis(s.opts.Now().UnixMilli()) }

// GetSession returns one row of the list.
func (s *Stepwell) GetSession(ctx context.Context, opts api.SessionOptions) (api.SessionInfo, error) {
	if err := opts.Validate(); err != nil {
		return api.SessionInfo{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.SessionInfo{}, err
	}
	created, err := createdAt(ctx, session)
	if err != nil {
		return api.SessionInfo{}, err
	}
	return s.info(ctx, session.ID(), created)
}

// createdAt returns when a session was made.
func createdAt(ctx context.Context, session store.Session) (object.Millis, error) {
	info, err := session.Info(ctx)
	return info.CreatedAt, fault(err)
}

func (s *Stepwell) info(ctx context.Context, id store.SessionID, created object.Millis) (api.SessionInfo, error) {
	session, err := s.open(ctx, api.SessionID(id))
	if err != nil {
		return api.SessionInfo{}, err
	}
	entry, err := view.LoadSessionEntry(ctx, session, DefaultHead, created)
	if err != nil {
		return api.SessionInfo{}, fault(err)
	}
	return api.SessionInfo{
		SessionID: api.SessionID(id), Name: entry.Name, Preview: entry.Preview, CreatedAt: entry.CreatedAt,
		LastActivityAt: entry.LastActivity, Pinned: entry.Pinned, Archived: entry.Archived, Heads: entry.Heads, Config: entry.Config,
	}, nil
}

// ListSessions returns a page of sessions, newest first. The cursor is the id of the last session of the page before.
func (s *Stepwell) ListSessions(ctx context.Context, opts api.ListSessionsOptions) (api.SessionPage, error) {
	if err := opts.Validate(); err != nil {
		return api.SessionPage{}, err
	}
	limit := opts.Limit
	if limit == 0 {
		limit = api.DefaultPage
	}
	if err := s.ready(); err != nil {
		return api.SessionPage{}, err
	}
	rows, err := s.opts.Store.ListSessions(ctx, store.ListOptions{
		Owner: opts.Owner, Cursor: store.SessionID(opts.Cursor), Limit: limit + 1,
	})
	if err != nil {
		if errors.Is(err, store.ErrInvalid) {
			return api.SessionPage{}, api.Invalid("/cursor", "%v", err)
		}
		return api.SessionPage{}, fault(err)
	}
	page := api.SessionPage{Items: []api.SessionInfo{}, HasMore: len(rows) > limit}
	if page.HasMore {
		rows = rows[:limit]
		page.Next = string(rows[limit-1].ID)
	}
	for _, row := range rows {
		info, err := s.info(ctx, row.ID, row.CreatedAt)
		if errors.Is(err, api.ErrSessionNotFound) {
			continue // deleted since the page was read
		}
		if errors.Is(err, object.ErrCorrupt) {
			s.log.ErrorContext(ctx, "list sessions", slog.String("session", string(row.ID)), slog.Any("error", err))
			info, err = damaged(row), nil
		}
		if err != nil {
			return api.SessionPage{}, err
		}
		page.Items = append(page.Items, info)
	}
	return page, nil
}

// damaged is the row of a session that cannot be read. It stays on the list, so that it can be checked and deleted, and so that one such
// session does not hide the others.
func damaged(row store.SessionInfo) api.SessionInfo {
	return api.SessionInfo{
		SessionID: api.SessionID(row.ID), CreatedAt: row.CreatedAt, LastActivityAt: row.CreatedAt, Heads: []string{DefaultHead},
	}
}

// RenameSession sets or removes the session's name.
func (s *Stepwell) RenameSession(ctx context.Context, opts api.RenameSessionOptions) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	var value any
	if opts.Name != "" {
		value = opts.Name
	}
	return s.setFact(ctx, opts.SessionID, factName, value, opts.Actor)
}

// SetPinned sets or clears the pinned mark.
func (s *Stepwell) SetPinned(ctx context.Context, opts api.FlagSessionOptions) error {
	return s.setFlag(ctx, opts, factPinned)
}

// SetArchived sets or clears the archived mark.
func (s *Stepwell) SetArchived(ctx context.Context, opts api.FlagSessionOptions) error {
	return s.setFlag(ctx, opts, factArchived)
}

func (s *Stepwell) setFlag(ctx context.Context, opts api.FlagSessionOptions, key string) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	var value any
	if opts.On {
		value = true
	}
	return s.setFact(ctx, opts.SessionID, key, value, opts.Actor)
}

// setFact sets a fact to the JSON of value, or removes it when value is nil.
func (s *Stepwell) setFact(ctx context.Context, id api.SessionID, key string, value any, actor *object.Actor) error {
	session, err := s.open(ctx, id)
	if err != nil {
		return err
	}
	var data []byte
	if value != nil {
		if data, err = json.Marshal(value); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
	}
	return fault(session.SetFact(ctx, key, data, s.actor(actor)))
}

// DeleteSession marks the session, which ends its runs and tells its watchers, and then removes it with everything in it.
func (s *Stepwell) DeleteSession(ctx context.Context, opts api.DeleteSessionOptions) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	session, err := s.open(ctx, opts.SessionID)
	if errors.Is(err, api.ErrSessionNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := session.MarkDeleted(ctx, s.actor(opts.Actor)); err != nil && !errors.Is(err, store.ErrUnknownSession) {
		return fault(err)
	}
	if err := s.opts.Store.DeleteSession(ctx, session.ID()); err != nil {
		return fault(err)
	}
	s.forget(session)
	return nil
}
