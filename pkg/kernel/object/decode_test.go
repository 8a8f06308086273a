package object_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Conformance 44: bytes with the right hash and an incomplete shape are no object, for every kind and effect state. Each
// member that has no "?" is required, with its nested ones behind a dot.
func TestDecodeRefusesIncomplete(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{
		"commit-user-full":      "kind parent imports? change? run? body at author? key? body.kind body.message body.agent? body.message.role body.message.content body.message.timestamp",
		"commit-assistant-full": "body.message.content body.message.api body.message.provider body.message.model body.message.usage body.message.stopReason body.message.errorMessage? body.message.responseModel? body.message.responseId? body.message.diagnostics? body.message.rawStopReason? body.message.timestamp body.message.usage.input body.message.usage.cost body.message.usage.reasoning? body.message.usage.cost.total",
		"commit-checkpoint":     "body.summary body.retainedTail body.tokensBefore body.material? body.usage? body.config? body.material.type body.material.provider body.material.api body.material.model body.material.data",
		"commit-summary-usage":  "body.text body.usage?",
		"commit-config":         "body.model? body.thinkingLevel? body.agent? body.model.provider? body.model.id",
		"commit-note":           "body.type body.data",
		"change":                "kind previous supersedes? body at author? key?",
		"change-lane":           "lane?",
		"run-retry":             "kind id head phase startedAt attempts config abortRequested? phase.kind phase.at phase.retries phase.error",
		"run-failed":            "phase.error phase.class config.model?",
		"stack-based":           "kind parent base",
		"blob":                  "kind value",
		"intent":                "kind state runId callId tool args replay at",
		"waiting-asks":          "kind state intent at selection? until? selection.title selection.choices selection.multiple? selection.other?",
		"expired":               "kind state intent waiting at",
		"signal-author":         "kind state intent waiting signal at author?",
		"result-full":           "kind state intent result at result.role result.toolCallId result.toolName result.content result.details? result.title? result.usage? result.isError result.timestamp",
	} {
		sample, ok := samples()[name]
		if !ok {
			t.Fatalf("no sample %s", name)
		}
		for member := range strings.FieldsSeq(members) {
			member, optional := strings.CutSuffix(member, "?")
			t.Run(name+"/"+member, func(t *testing.T) {
				t.Parallel()
				body := without(t, encode(t, sample).Body, strings.Split(member, "."))
				got, err := object.Decode(object.Hash(body), body)
				switch {
				case optional && err != nil:
					t.Errorf("optional member: %v", err)
				case !optional && err == nil:
					t.Errorf("decoded without it: %+v", got)
				case !optional && !errors.Is(err, object.ErrCorrupt):
					t.Errorf("error %v is not ErrCorrupt", err)
				}
			})
		}
	}
}

// Only the canonical bytes of a known object are an object, whatever they hash to.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 64)
	for name, body := range map[string]string{
		"nothing":                     ``,
		"not JSON":                    `{`,
		"no object":                   `"blob"`,
		"null":                        `null`,
		"unknown kind":                `{"kind":"tree","value":1}`,
		"effect state as kind":        `{"args":{},"at":1,"callId":"c","kind":"intent","replay":"safe","runId":"r","state":"intent","tool":"t"}`,
		"unknown state":               `{"at":1,"kind":"effect","state":"lost"}`,
		"unknown member":              `{"kind":"blob","more":1,"value":1}`,
		"member of another case":      `{"Kind":"blob","kind":"blob","value":1}`,
		"duplicate member":            `{"kind":"blob","value":1,"value":1}`,
		"white space":                 `{"kind":"blob", "value":1}`,
		"line end":                    "{\"kind\":\"blob\",\"value\":1}\n",
		"unsorted":                    `{"value":1,"kind":"blob"}`,
		"unsorted inside":             `{"kind":"blob","value":{"b":1,"a":2}}`,
		"number spelled otherwise":    `{"kind":"blob","value":1.0}`,
		"negative zero":               `{"kind":"blob","value":-0}`,
		"text spelled otherwise":      `{"kind":"blob","value":"\u0061"}`,
		"2^53+1":                      `{"kind":"blob","value":9007199254740993}`,
		"null for an optional member": `{"change":null,"at":1,"body":{"kind":"summary","text":""},"kind":"commit","parent":null}`,
		"null for a required text":    `{"base":null,"kind":"stack","parent":null}`,
		"zeros for absence":           `{"base":"` + zeros + `","kind":"stack","parent":"main"}`,
		"upper-case oid":              `{"base":"` + strings.Repeat("A", 64) + `","kind":"stack","parent":"main"}`,
		"short oid":                   `{"base":"ab","kind":"stack","parent":"main"}`,
		"oid of another type":         `{"base":1,"kind":"stack","parent":"main"}`,
		"empty head":                  `{"base":null,"kind":"stack","parent":""}`,
		"negative time":               `{"at":-1,"body":{"kind":"summary","text":""},"kind":"change","previous":null}`,
		"fraction of a millisecond":   `{"at":1.5,"body":{"kind":"summary","text":""},"kind":"change","previous":null}`,
		"null body":                   `{"at":1,"body":null,"kind":"change","previous":null}`,
		"null import":                 `{"at":1,"body":{"kind":"summary","text":""},"imports":[null],"kind":"commit","parent":null}`,
		"empty imports":               `{"at":1,"body":{"kind":"summary","text":""},"imports":[],"kind":"commit","parent":null}`,
		"user message as result":      `{"at":1,"intent":"` + strings.Repeat("a", 64) + `","kind":"effect","result":{"content":[{"text":"x","type":"text"}],"role":"user","timestamp":1},"state":"result"}`,
		"user content as text":        `{"at":1,"body":{"kind":"message","message":{"content":"hi","role":"user","timestamp":1}},"kind":"commit","parent":null}`,
		"user without content":        `{"at":1,"body":{"kind":"message","message":{"content":[],"role":"user","timestamp":1}},"kind":"commit","parent":null}`,
		"result part in a user":       `{"at":1,"body":{"kind":"message","message":{"content":[{"thinking":"x","type":"thinking"}],"role":"user","timestamp":1}},"kind":"commit","parent":null}`,
		"unknown phase":               `{"attempts":0,"config":{},"head":"main","id":"r","kind":"run","phase":{"kind":"paused"},"startedAt":1}`,
		"unknown failure class":       `{"attempts":0,"config":{},"head":"main","id":"r","kind":"run","phase":{"class":"luck","error":"","kind":"failed"},"startedAt":1}`,
		"negative attempts":           `{"attempts":-1,"config":{},"head":"main","id":"r","kind":"run","phase":{"kind":"done"},"startedAt":1}`,
		"unknown replay policy":       `{"args":{},"at":1,"callId":"c","kind":"effect","replay":"maybe","runId":"r","state":"intent","tool":"t"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oid := object.Hash([]byte(body))
			got, err := object.Decode(oid, []byte(body))
			if err == nil {
				t.Fatalf("decoded as %+v", got)
			}
			corrupt, ok := errors.AsType[*object.CorruptError](err)
			if !ok || corrupt.OID != oid || !errors.Is(err, object.ErrCorrupt) {
				t.Errorf("error %v does not name the corrupt object %s", err, oid)
			}
		})
	}
}

// A flipped bit in the text of an object leaves a well-formed object, which is not the one that was asked for.
func TestDecodeVerifiesHash(t *testing.T) {
	t.Parallel()
	for name, o := range samples() {
		enc := encode(t, o)
		if _, err := object.Decode(object.Hash([]byte("another")), enc.Body); !errors.Is(err, object.ErrCorrupt) || !strings.Contains(err.Error(), "does not match its hash") {
			t.Errorf("%s under another oid: %v", name, err)
		}
		for i := range enc.Body {
			bad := bytes.Clone(enc.Body)
			bad[i] ^= 1
			if _, err := object.Decode(enc.OID, bad); !errors.Is(err, object.ErrCorrupt) {
				t.Fatalf("%s with byte %d flipped: %v", name, i, err)
			}
		}
		if _, err := object.Decode(enc.OID, enc.Body[:len(enc.Body)-1]); !errors.Is(err, object.ErrCorrupt) {
			t.Errorf("%s cut short: %v", name, err)
		}
	}
}

// without returns the canonical JSON body without the member that path leads to.
func without(t *testing.T, body []byte, path []string) []byte {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	value, ok := members[path[0]]
	if !ok {
		t.Fatalf("no member %s in %v", path[0], slices.Sorted(maps.Keys(members)))
	}
	if len(path) == 1 {
		delete(members, path[0])
	} else {
		members[path[0]] = without(t, value, path[1:])
	}
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	v := jsontext.Value(out)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return v
}
