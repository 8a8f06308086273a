package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// samples are one event of every stored form.
func samples() map[string]store.EventBody {
	return map[string]store.EventBody{
		"ref made":       store.RefEvent{Name: "refs/heads/main", To: oid("b"), Reason: "land"},
		"ref moved":      store.RefEvent{Name: "refs/heads/main", From: oid("a"), To: oid("b"), Reason: "land", Actor: &object.Actor{UserID: "ü", Device: "phone"}},
		"ref removed":    store.RefEvent{Name: "refs/heads/m€in", From: oid("a"), Reason: "\x00 \u2028", Actor: &object.Actor{}},
		"delta":          store.DeltaEvent{RunID: "run_1", Attempt: 1, Part: store.TextPart, Delta: "hello"},
		"empty delta":    store.DeltaEvent{RunID: "run_1", Attempt: 300, Index: 7, Part: store.ThinkingPart},
		"large delta":    store.DeltaEvent{RunID: "run_1", Attempt: 1, Part: store.TextPart, Delta: strings.Repeat("and so on ", 1000)},
		"notice":         store.NoticeEvent{Level: store.Warn, Owner: "o", Message: "m"},
		"progress":       store.ProgressEvent{RunID: "run_1", CallID: "c", Progress: store.Progress{Text: "50 %", Details: jsontext.Value(`{"n":1}`)}},
		"large progress": store.ProgressEvent{RunID: "run_1", CallID: "c", Progress: store.Progress{Text: strings.Repeat("line\n", 1000)}},
	}
}

func TestEvents_RoundTrip(t *testing.T) {
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			row, err := sqlitestore.PackEvent(want)
			must(t, err)
			got, err := sqlitestore.UnpackEvent(row)
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			plain, err := store.EncodeEvent(want)
			must(t, err)
			if len(row) > len(plain)+1 {
				t.Errorf("the row has %d bytes, its JSON %d", len(row), len(plain))
			}
		})
	}
}

// A row that was cut or lengthened is an error, never another event.
func TestEvents_RefuseMalformedRows(t *testing.T) {
	for name, body := range samples() {
		t.Run(name, func(t *testing.T) {
			row, err := sqlitestore.PackEvent(body)
			must(t, err)
			for n := range row[:min(len(row), 200)] {
				got, err := sqlitestore.UnpackEvent(row[:n])
				if err == nil && !isDelta(got) {
					t.Errorf("the first %d of %d bytes read as %#v", n, len(row), got)
				}
			}
			if got, err := sqlitestore.UnpackEvent(append(row, 'x')); err == nil && !isDelta(got) {
				t.Errorf("a longer row reads as %#v", got)
			}
		})
	}
	for name, row := range map[string][]byte{
		"empty":             {},
		"unknown form":      {9, 1, 2},
		"bad ref name":      append([]byte{2, 0, 2}, "..\x01r"...),
		"ref, no reason":    append([]byte{2, 0, 1}, "a\x00"...),
		"ref, long name":    {2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"ref, bad flags":    append([]byte{2, 64, 1}, "a\x01r"...),
		"ref, bad actor":    append([]byte{2, 4, 1}, `a`+"\x01r"+`{"x":1}`...),
		"delta, no run":     append([]byte{3, 0, 0, 4}, "text\x01\x00hi"...),
		"delta, attempt 0":  append([]byte{3, 0, 1}, "r\x04text\x00\x00hi"...),
		"delta, bad part":   append([]byte{3, 0, 1}, "r\x04nope\x01\x00hi"...),
		"delta, bad UTF-8":  append([]byte{3, 0, 1}, "r\x04text\x01\x00\xff"...),
		"delta, bad codec":  append([]byte{3, 7, 1}, "r\x04text\x01\x00hi"...),
		"JSON, unknown":     append([]byte{0}, `{"kind":"other"}`...),
		"JSON, not JSON":    append([]byte{0}, `nonsense`...),
		"zstd, not a frame": {1, 1, 2, 3},
	} {
		if got, err := sqlitestore.UnpackEvent(row); err == nil {
			t.Errorf("%s: read as %#v", name, got)
		}
	}
}

// isDelta: the text of a delta is what remains of its row, so a cut row can be a shorter delta.
func isDelta(b store.EventBody) bool {
	_, ok := b.(store.DeltaEvent)
	return ok
}

// Whatever bytes a row has, reading it gives an error or an event that can be written again as itself.
func FuzzUnpackEvent(f *testing.F) {
	for _, body := range samples() {
		row, err := sqlitestore.PackEvent(body)
		must(f, err)
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		got, err := sqlitestore.UnpackEvent(row)
		if err != nil {
			return
		}
		again, err := sqlitestore.PackEvent(got)
		if err != nil {
			t.Fatalf("%#v cannot be written: %v", got, err)
		}
		back, err := sqlitestore.UnpackEvent(again)
		if err != nil {
			t.Fatalf("%#v cannot be read back: %v", got, err)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("-read +written and read:\n%s", diff)
		}
	})
}
