package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

func open(t testing.TB, path string, opts *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "stepwell.db")
}

func create(t testing.TB, s *sqlitestore.Store, id store.SessionID) store.Session {
	t.Helper()
	out, err := s.CreateSession(t.Context(), store.CreateOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	created, ok := out.(store.SessionCreated)
	if !ok {
		t.Fatalf("CreateSession(%q) = %T, want SessionCreated", id, out)
	}
	return created.Session
}

func reopen(t testing.TB, s *sqlitestore.Store, id store.SessionID) store.Session {
	t.Helper()
	got, err := s.OpenSession(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func encode(t testing.TB, o object.Object) object.Encoded {
	t.Helper()
	e, err := object.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func oid(s string) object.OID { return object.Hash([]byte(s)) }

// set moves a ref and fails the test unless it worked.
func set(ctx context.Context, t testing.TB, s store.Session, name ref.Name, from, to object.OID) store.Seq {
	t.Helper()
	out, err := s.UpdateRefs(ctx, []store.Update{{Name: name, From: from, To: to}}, store.UpdateOptions{Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	updated, ok := out.(store.Updated)
	if !ok {
		t.Fatalf("UpdateRefs = %#v, want Updated", out)
	}
	return updated.Seq
}

func userSays(text string) message.Message {
	return message.User{Content: []message.Content{message.Text{Text: text}}, Timestamp: 1}
}

// commit returns the n-th commit of a conversation.
func commit(parent object.OID, n int) object.Commit {
	return object.Commit{Parent: parent, At: object.Millis(n), Body: object.MessageBody{Message: userSays("and then?")}}
}
