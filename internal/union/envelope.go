package union

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The envelopes put one tag member beside a variant's own members. There is one per tag name, because a struct tag cannot
// be a parameter.
type (
	byKind[V any] struct {
		Kind  string `json:"kind"`
		Value V      `json:",embed"`
	}
	byRole[V any] struct {
		Role  string `json:"role"`
		Value V      `json:",embed"`
	}
	byType[V any] struct {
		Type  string `json:"type"`
		Value V      `json:",embed"`
	}
	byState[V any] struct {
		State string `json:"state"`
		Value V      `json:",embed"`
	}
	byKindState[V any] struct {
		Kind  string `json:"kind"`
		State string `json:"state"`
		Value V      `json:",embed"`
	}
)

// Kind is a variant V of T tagged by the member "kind".
func Kind[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byKind[V] { return byKind[V]{name, v} },
		func(e byKind[V]) (string, V) { return e.Kind, e.Value })
}

// Role is a variant V of T tagged by the member "role".
func Role[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byRole[V] { return byRole[V]{name, v} },
		func(e byRole[V]) (string, V) { return e.Role, e.Value })
}

// Type is a variant V of T tagged by the member "type".
func Type[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byType[V] { return byType[V]{name, v} },
		func(e byType[V]) (string, V) { return e.Type, e.Value })
}

// State is a variant V of T tagged by the member "state".
func State[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byState[V] { return byState[V]{name, v} },
		func(e byState[V]) (string, V) { return e.State, e.Value })
}

// KindState is a variant V of T tagged by the member "state", with a fixed member "kind" beside it.
func KindState[T, V any](kind, state string) Case[T] {
	return newCase[T](state,
		func(v V) byKindState[V] { return byKindState[V]{kind, state, v} },
		func(e byKindState[V]) (string, V) {
			if e.Kind != kind {
				return e.Kind + "/" + e.State, e.Value // no case has a slash in its name
			}
			return e.State, e.Value
		})
}

func newCase[T, V, E any](name string, wrap func(V) E, unwrap func(E) (string, V)) Case[T] {
	var zero V
	decode := func(read func(*E) error) (V, error) {
		var e E
		if err := read(&e); err != nil {
			return zero, err
		}
		got, v := unwrap(e)
		if got != name {
			return zero, fmt.Errorf("want %q, got %q", name, got)
		}
		return v, nil
	}
	return Case[T]{
		name: name,
		zero: asUnion[T](zero),
		marshal: json.MarshalToFunc(func(enc *jsontext.Encoder, v V) error {
			return json.MarshalEncode(enc, wrap(v))
		}),
		// A field of the variant's own type, not of the union's, carries the tag too.
		unmarshalVariant: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, p *V) error {
			v, err := decode(func(e *E) error { return json.UnmarshalDecode(dec, e) })
			if err != nil {
				return err
			}
			*p = v
			return nil
		}),
		unmarshal: func(raw jsontext.Value, opts json.Options) (T, error) {
			v, err := decode(func(e *E) error { return json.Unmarshal(raw, e, opts) })
			if err != nil {
				var none T
				return none, err
			}
			return asUnion[T](v), nil
		},
	}
}

func newReader(raw jsontext.Value) io.Reader { return bytes.NewReader(raw) }
