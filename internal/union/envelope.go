package union

import (
	"bytes"
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
		func(e byKind[V]) V { return e.Value })
}

// Role is a variant V of T tagged by the member "role".
func Role[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byRole[V] { return byRole[V]{name, v} },
		func(e byRole[V]) V { return e.Value })
}

// Type is a variant V of T tagged by the member "type".
func Type[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byType[V] { return byType[V]{name, v} },
		func(e byType[V]) V { return e.Value })
}

// State is a variant V of T tagged by the member "state".
func State[T, V any](name string) Case[T] {
	return newCase[T](name,
		func(v V) byState[V] { return byState[V]{name, v} },
		func(e byState[V]) V { return e.Value })
}

// KindState is a variant V of T tagged by the member "state", with a fixed member "kind" beside it.
func KindState[T, V any](kind, state string) Case[T] {
	return newCase[T](state,
		func(v V) byKindState[V] { return byKindState[V]{kind, state, v} },
		func(e byKindState[V]) V { return e.Value })
}

func newCase[T, V, E any](name string, wrap func(V) E, unwrap func(E) V) Case[T] {
	var zero V
	return Case[T]{
		name: name,
		zero: asUnion[T](zero),
		marshal: json.MarshalToFunc(func(enc *jsontext.Encoder, v V) error {
			return json.MarshalEncode(enc, wrap(v))
		}),
		unmarshal: func(raw jsontext.Value, opts json.Options) (T, error) {
			var e E
			if err := json.Unmarshal(raw, &e, opts); err != nil {
				var none T
				return none, err
			}
			return asUnion[T](unwrap(e)), nil
		},
	}
}

func newReader(raw jsontext.Value) io.Reader { return bytes.NewReader(raw) }
