package object_test

import (
	"bytes"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Whatever decodes encodes to the same bytes and oid, and nothing makes the decoder panic.
func FuzzDecode(f *testing.F) {
	for _, o := range samples() {
		f.Add(encode(f, o).Body)
	}
	f.Add([]byte(`{"kind":"effect","state":"result"}`))
	f.Add([]byte("{\"kind\":\"blob\",\"value\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		oid := object.Hash(body)
		o, err := object.Decode(oid, body)
		if err != nil {
			return
		}
		enc, err := object.Encode(o)
		if err != nil {
			t.Fatalf("%s decodes and does not encode: %v", body, err)
		}
		if enc.OID != oid || !bytes.Equal(enc.Body, body) {
			t.Fatalf("%s encodes as %s", body, enc.Body)
		}
		_ = object.Links(o)
		_ = object.Parent(o)
	})
}

// A JSON text is refused, or it becomes a blob that reads back, that the oracle writes alike, and that stays as it is when
// it is written again.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[null,true,-0,1e21,0.1]}`, `9007199254740993`, `1e400`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `"\ud83d\ude00"`,
		"{\"\U0001F600\":1,\"\ue000\":2}", `"\u2028</>"`, `[[[[]]]]`, ` 1 `, `1 2`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		given := bytes.Clone(value)
		enc, err := object.Encode(object.Blob{Value: value})
		if !bytes.Equal(given, value) {
			t.Fatalf("Encode changed its input %q to %q", given, value)
		}
		if err != nil {
			return
		}
		o, err := object.Decode(enc.OID, enc.Body)
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		again, err := object.Encode(o)
		if err != nil || again.OID != enc.OID {
			t.Fatalf("%q: encoding again gives %s, %v; it was %s", value, again.Body, err, enc.Body)
		}
		oracle, err := jcs.Transform(enc.Body)
		if err != nil {
			t.Fatalf("the oracle refuses %s: %v", enc.Body, err)
		}
		if !bytes.Equal(oracle, enc.Body) {
			t.Fatalf("%s is %s to the oracle", enc.Body, oracle)
		}
	})
}

func FuzzParseOID(f *testing.F) {
	f.Add("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
	f.Add("2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824")
	f.Add("0000000000000000000000000000000000000000000000000000000000000000")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		oid, err := object.ParseOID(s)
		if err == nil && oid.String() != s {
			t.Fatalf("%q parses as %q", s, oid)
		}
		if err != nil && !oid.IsZero() {
			t.Fatalf("%q fails with %v and an oid", s, err)
		}
	})
}
