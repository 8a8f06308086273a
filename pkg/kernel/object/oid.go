package object

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An OID names an object by the SHA-256 of its canonical bytes. On the wire it is 64 lower-case hexadecimal digits. The
// zero OID means absent, and is null where a member is required.
type OID [sha256.Size]byte

// ErrBadOID reports a text that is not an object id.
var ErrBadOID = errors.New("not an object id: want 64 lower-case hexadecimal digits")

// Hash returns the OID of canonical bytes.
func Hash(body []byte) OID { return sha256.Sum256(body) }

// ParseOID reads 64 lower-case hexadecimal digits, not all zero: an absent object has no digits.
func ParseOID(s string) (OID, error) {
	var o OID
	if len(s) != hex.EncodedLen(len(o)) {
		return OID{}, fmt.Errorf("%w, got %d characters", ErrBadOID, len(s))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return OID{}, fmt.Errorf("%w, got %q", ErrBadOID, c)
		}
	}
	if _, err := hex.Decode(o[:], []byte(s)); err != nil {
		return OID{}, fmt.Errorf("%w: %w", ErrBadOID, err)
	}
	if o.IsZero() {
		return OID{}, fmt.Errorf("%w, got only zeros, which stand for no object", ErrBadOID)
	}
	return o, nil
}

// IsZero reports whether o is absent.
func (o OID) IsZero() bool { return o == OID{} }

// String returns the hexadecimal form, or "" for the zero OID.
func (o OID) String() string {
	if o.IsZero() {
		return ""
	}
	return hex.EncodeToString(o[:])
}

// Short returns the first ten digits, for people.
func (o OID) Short() string {
	if o.IsZero() {
		return "(none)"
	}
	return hex.EncodeToString(o[:5])
}

// Compare orders OIDs by their bytes.
func (o OID) Compare(p OID) int {
	for i := range o {
		if o[i] != p[i] {
			if o[i] < p[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// MarshalText returns the hexadecimal form.
func (o OID) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the hexadecimal form; "" is the zero OID.
func (o *OID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*o = OID{}
		return nil
	}
	got, err := ParseOID(string(text))
	if err != nil {
		return err
	}
	*o = got
	return nil
}

// MarshalJSONTo writes the hexadecimal string, or null for the zero OID.
func (o OID) MarshalJSONTo(enc *jsontext.Encoder) error {
	if o.IsZero() {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteToken(jsontext.String(o.String()))
}

// UnmarshalJSONFrom reads the hexadecimal string or null.
func (o *OID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case 'n':
		*o = OID{}
		return nil
	case '"':
		got, err := ParseOID(tok.String())
		if err != nil {
			return err
		}
		*o = got
		return nil
	}
	return ErrBadOID
}
