package store_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

var zeroOID = `"` + strings.Repeat("0", 64) + `"`

func eventSamples() map[string]struct {
	body store.EventBody
	json string
} {
	oid := object.Hash([]byte("x"))
	return map[string]struct {
		body store.EventBody
		json string
	}{
		"ref": {
			store.RefEvent{Name: ref.Head("a"), To: oid, Reason: "land"},
			`{"kind":"ref","name":"refs/heads/a","from":null,"to":"` + oid.String() + `","reason":"land"}`,
		},
		"ref of an actor": {
			store.RefEvent{Name: ref.Head("a"), From: oid, Reason: "delete", Actor: &object.Actor{UserID: "u"}},
			`{"kind":"ref","name":"refs/heads/a","from":"` + oid.String() + `","to":null,"reason":"delete","actor":{"userId":"u"}}`,
		},
		"delta": {
			store.DeltaEvent{RunID: "r", Attempt: 1, Part: store.TextPart, Delta: "</a>\u2028"},
			`{"kind":"delta","runId":"r","attempt":1,"index":0,"part":"text","delta":"</a>` + "\u2028" + `"}`,
		},
		"progress": {
			store.ProgressEvent{RunID: "r", CallID: "c", Progress: store.Progress{Text: "t", Title: "T", Details: []byte(`{"b":1,"a":2}`)}},
			`{"kind":"progress","runId":"r","callId":"c","progress":{"text":"t","title":"T","details":{"b":1,"a":2}}}`,
		},
		"notice": {
			store.NoticeEvent{Level: store.Warn, Owner: "o", Message: "m"},
			`{"kind":"notice","level":"warn","owner":"o","message":"m"}`,
		},
	}
}

func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	for name, test := range eventSamples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := store.EncodeEvent(test.body)
			if err != nil || string(data) != test.json {
				t.Errorf("EncodeEvent = %s, %v\nwant %s", data, err, test.json)
			}
			got, err := store.DecodeEvent([]byte(test.json))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.body, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A store may have moved the payload through a writer with other habits.
	got, err := store.DecodeEvent([]byte(` {"delta":"\u003c/a\u003e\u2028","part":"text","index":0,"attempt":1,"runId":"r","kind":"delta"} `))
	if err != nil || got != eventSamples()["delta"].body {
		t.Errorf("other spelling: %+v, %v", got, err)
	}
}

// Conformance 46: a malformed payload is rejected on replay.
func TestDecodeEventRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":              ``,
		"cut short":            `{"kind":"notice"`,
		"null":                 `null`,
		"unknown kind":         `{"kind":"ping"}`,
		"no kind":              `{"level":"info","owner":"o","message":"m"}`,
		"unknown member":       `{"kind":"notice","level":"info","owner":"o","message":"m","x":1}`,
		"unknown level":        `{"kind":"notice","level":"fatal","owner":"o","message":"m"}`,
		"missing message":      `{"kind":"notice","level":"info","owner":"o"}`,
		"missing index":        `{"kind":"delta","runId":"r","attempt":1,"part":"text","delta":"x"}`,
		"missing delta":        `{"kind":"delta","runId":"r","attempt":1,"index":0,"part":"text"}`,
		"attempt 0":            `{"kind":"delta","runId":"r","attempt":0,"index":0,"part":"text","delta":"x"}`,
		"index as text":        `{"kind":"delta","runId":"r","attempt":1,"index":"0","part":"text","delta":"x"}`,
		"missing progress":     `{"kind":"progress","runId":"r","callId":"c"}`,
		"missing text":         `{"kind":"progress","runId":"r","callId":"c","progress":{"title":"x"}}`,
		"2^53+1 in details":    `{"kind":"progress","runId":"r","callId":"c","progress":{"text":"t","details":9007199254740993}}`,
		"missing from":         `{"kind":"ref","name":"refs/heads/a","to":null,"reason":"r"}`,
		"empty reason":         `{"kind":"ref","name":"refs/heads/a","from":null,"to":null,"reason":""}`,
		"invalid name":         `{"kind":"ref","name":"refs/heads/","from":null,"to":null,"reason":"r"}`,
		"short oid":            `{"kind":"ref","name":"refs/heads/a","from":"ab","to":null,"reason":"r"}`,
		"zeros for absence":    `{"kind":"ref","name":"refs/heads/a","from":` + zeroOID + `,"to":null,"reason":"r"}`,
		"duplicate member":     `{"kind":"notice","level":"info","level":"info","owner":"o","message":"m"}`,
		"text after the value": `{"kind":"notice","level":"info","owner":"o","message":"m"} {}`,
		"invalid UTF-8":        "{\"kind\":\"notice\",\"level\":\"info\",\"owner\":\"o\",\"message\":\"\xff\"}",
	} {
		if got, err := store.DecodeEvent([]byte(text)); err == nil || got != nil {
			t.Errorf("%s: DecodeEvent = %+v, %v; want an error", name, got, err)
		}
	}
}

func TestEncodeEventRefuses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]store.EventBody{
		"nothing":        nil,
		"too large":      store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{"n":1e400}`)}},
		"not JSON":       store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{`)}},
		"duplicate name": store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{"a":1,"a":1}`)}},
		"invalid UTF-8":  store.NoticeEvent{Level: store.Info, Message: "\xff"},
	} {
		if data, err := store.EncodeEvent(body); err == nil {
			t.Errorf("%s: EncodeEvent = %s", name, data)
		}
	}
}

// Whatever decodes can be stored again and means the same.
func FuzzDecodeEvent(f *testing.F) {
	for _, sample := range eventSamples() {
		f.Add([]byte(sample.json))
	}
	f.Add([]byte(`{"kind":"progress","runId":"r","callId":"c","progress":{"text":"t","details":-0}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := store.DecodeEvent(data)
		if err != nil {
			return
		}
		again, err := store.EncodeEvent(body)
		if err != nil {
			t.Fatalf("%s decodes and does not encode: %v", data, err)
		}
		back, err := store.DecodeEvent(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if diff := cmp.Diff(body, back); diff != "" && !strings.Contains(string(data), "details") {
			t.Fatal(diff)
		}
	})
}
