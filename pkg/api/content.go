package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Content is what a participant says. On the wire it is a list of parts, or a string for one text.
type Content []message.Content

// Text returns the content of one text.
func Text(s string) Content { return Content{message.Text{Text: s}} }

// UnmarshalJSONFrom reads a string or a list of parts.
func (c *Content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*c = Text(tok.String())
		return nil
	}
	var parts []message.Content
	if err := json.UnmarshalDecode(dec, &parts, json.WithUnmarshalers(message.Unmarshalers())); err != nil {
		return err
	}
	*c = parts
	return nil
}

// Clean returns c with invalid UTF-8 in its texts replaced by U+FFFD, so that a bad byte costs a character and never the
// message.
func (c Content) Clean() Content {
	out := make(Content, len(c))
	for i, p := range c {
		switch p := p.(type) {
		case message.Text:
			p.Text = message.CleanText(p.Text)
			out[i] = p
		case message.Image, nil:
			out[i] = p
		}
	}
	return out
}

// A Tip is where a head is or should be, as an option: not given, unborn, or a commit. On the wire it is absent, null or
// an object id.
type Tip struct {
	Given bool
	OID   object.OID // zero: unborn
}

// At returns the Tip oid; the zero oid is unborn.
func At(oid object.OID) Tip { return Tip{Given: true, OID: oid} }

// IsZero reports whether the option is not given.
func (t Tip) IsZero() bool { return !t.Given }

// Matches reports whether tip is what t asks for. A Tip that is not given matches all.
func (t Tip) Matches(tip object.OID) bool { return !t.Given || t.OID == tip }

// MarshalJSONTo writes null or the object id.
func (t Tip) MarshalJSONTo(enc *jsontext.Encoder) error { return t.OID.MarshalJSONTo(enc) }

// UnmarshalJSONFrom reads null or an object id.
func (t *Tip) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	t.Given = true
	return t.OID.UnmarshalJSONFrom(dec)
}
