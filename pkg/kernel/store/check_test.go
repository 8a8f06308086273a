package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func TestCheckUpdate(t *testing.T) {
	t.Parallel()
	oid := object.Hash([]byte("x"))
	move := store.Update{Name: ref.Head("a"), To: oid}
	good := store.UpdateOptions{Reason: "land"}
	lease := &store.Lease{Name: ref.Head("a"), Owner: "o", Fence: 1}
	for name, test := range map[string]struct {
		updates []store.Update
		opts    store.UpdateOptions
		want    string // "" is well-formed
	}{
		"a move":                 {[]store.Update{move}, good, ""},
		"assertions":             {[]store.Update{store.Assert(ref.Head("a"), oid), store.Absent(ref.Deleted)}, good, ""},
		"nothing":                {nil, good, "no ref updates"},
		"no reason":              {[]store.Update{move}, store.UpdateOptions{}, "reason is empty"},
		"unreadable reason":      {[]store.Update{move}, store.UpdateOptions{Reason: "\xff"}, "reason is not valid UTF-8"},
		"invalid name":           {[]store.Update{move, {Name: "refs/heads/", To: oid}}, good, "updates[1]"},
		"repeated name":          {[]store.Update{move, store.Assert(move.Name, oid)}, good, "named twice"},
		"renew with a lease":     {[]store.Update{move}, store.UpdateOptions{Reason: "r", Lease: lease, Renew: time.Second, Release: true}, ""},
		"renew without a lease":  {[]store.Update{move}, store.UpdateOptions{Reason: "r", Renew: time.Second}, "without a lease"},
		"release without one":    {[]store.Update{move}, store.UpdateOptions{Reason: "r", Release: true}, "without a lease"},
		"renew into the past":    {[]store.Update{move}, store.UpdateOptions{Reason: "r", Lease: lease, Renew: -time.Second}, "renew"},
		"renew for nothing":      {[]store.Update{move}, store.UpdateOptions{Reason: "r", Lease: lease, Renew: time.Microsecond}, "renew"},
		"events":                 {[]store.Update{move}, store.UpdateOptions{Reason: "r", Events: []store.EventBody{notice("hi")}}, ""},
		"an event that is wrong": {[]store.Update{move}, store.UpdateOptions{Reason: "r", Events: []store.EventBody{notice("hi"), nil}}, "events[1]"},
	} {
		wantInvalid(t, name, store.CheckUpdate(test.updates, test.opts), test.want)
	}
}

// Conformance 45: an event that no JSON text can hold is refused before anything of its batch is written.
func TestCheckEvents(t *testing.T) {
	t.Parallel()
	progress := func(details string) store.EventBody {
		return store.ProgressEvent{RunID: "r", CallID: "c", Progress: store.Progress{Text: "t", Details: []byte(details)}}
	}
	delta := store.DeltaEvent{RunID: "r", Attempt: 1, Part: store.TextPart, Delta: "a\x00"}
	for name, test := range map[string]struct {
		bodies []store.EventBody
		want   string
	}{
		"one of each":        {[]store.EventBody{delta, progress(`{"n":1}`), progress(""), notice("hi")}, ""},
		"nothing":            {nil, "no events"},
		"a hole":             {[]store.EventBody{delta, nil}, "events[1]: event is missing"},
		"a ref event":        {[]store.EventBody{store.RefEvent{Name: ref.Head("a"), Reason: "r"}}, "only a ref update"},
		"delta of no run":    {[]store.EventBody{store.DeltaEvent{Attempt: 1, Part: store.TextPart}}, "runId"},
		"delta of attempt 0": {[]store.EventBody{store.DeltaEvent{RunID: "r", Part: store.TextPart}}, "attempt"},
		"negative index":     {[]store.EventBody{store.DeltaEvent{RunID: "r", Attempt: 1, Index: -1, Part: store.TextPart}}, "index"},
		"unknown part":       {[]store.EventBody{store.DeltaEvent{RunID: "r", Attempt: 1, Part: "image"}}, `part "image"`},
		"unreadable delta":   {[]store.EventBody{store.DeltaEvent{RunID: "r", Attempt: 1, Part: store.TextPart, Delta: "\xed\xa0\x80"}}, "UTF-8"},
		"progress of no run": {[]store.EventBody{store.ProgressEvent{}}, "runId"},
		"not a number":       {[]store.EventBody{delta, progress(`{"n":NaN}`)}, "events[1]: progress.details: $.n"},
		"too large a number": {[]store.EventBody{delta, progress(`{"n":[1e400]}`)}, "$.n[0]"},
		"2^53+1":             {[]store.EventBody{progress(`9007199254740993`)}, "does not survive"},
		"duplicate name":     {[]store.EventBody{progress(`{"a":1,"a":2}`)}, "$.a"},
		"unreadable title":   {[]store.EventBody{store.ProgressEvent{RunID: "r", Progress: store.Progress{Title: "\xff"}}}, "UTF-8"},
		"unknown level":      {[]store.EventBody{store.NoticeEvent{Level: "fatal"}}, `level "fatal"`},
		"unreadable notice":  {[]store.EventBody{notice("\xff")}, "UTF-8"},
	} {
		wantInvalid(t, name, store.CheckEvents(test.bodies), test.want)
	}
}

func TestCheckLease(t *testing.T) {
	t.Parallel()
	wantInvalid(t, "good", store.CheckLease(ref.Head("a"), time.Millisecond), "")
	wantInvalid(t, "bad name", store.CheckLease("refs/heads/a b", time.Second), "invalid name")
	wantInvalid(t, "no time", store.CheckLease(ref.Head("a"), 0), "ttl")
	wantInvalid(t, "less than a millisecond", store.CheckLease(ref.Head("a"), time.Millisecond-1), "ttl")
	wantInvalid(t, "negative time", store.CheckLease(ref.Head("a"), -time.Hour), "ttl")
}

// Field report B89: a session id is one path-safe component, whatever a store does with it.
func TestB89_SessionIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []store.SessionID{"a", "session_1f2e3d4c-5b6a", "A-Z_09", store.SessionID(strings.Repeat("x", 128))} {
		wantInvalid(t, string(id), store.CheckSessionID(id), "")
	}
	for _, id := range []store.SessionID{
		"", ".", "..", "../x", "/etc/passwd", "a/b", `a\b`, "a.b", "%2e%2e", "a#b", "a b", "a\x00", "a\n", "\u2215", "\u00e9", "\xff", "C:", "~",
		store.SessionID(strings.Repeat("x", 129)), store.SessionID(strings.Repeat("x", 4096)),
	} {
		wantInvalid(t, string(id), store.CheckSessionID(id), "session id")
	}
}

func TestCursorExpired(t *testing.T) {
	t.Parallel()
	var err error = &store.CursorExpiredError{After: 3, Floor: 7}
	if !errors.Is(err, store.ErrCursorExpired) || errors.Is(err, store.ErrClosed) {
		t.Errorf("%v is not ErrCursorExpired alone", err)
	}
	for _, want := range []string{"3", "7", "snapshot"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func notice(text string) store.EventBody {
	return store.NoticeEvent{Level: store.Info, Owner: "o", Message: text}
}

// wantInvalid checks that err is ErrInvalid and contains want, or is nil when want is empty.
func wantInvalid(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (!errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want)):
		t.Errorf("%.60q: error %v is not ErrInvalid with %q", name, err, want)
	}
}
