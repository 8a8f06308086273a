package api

import (
	"strings"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Check reports why id cannot name a session.
func (id SessionID) Check() error {
	switch {
	case id == "":
		return Invalid("/sessionId", "is missing; name a session")
	case len(id) > MaxID:
		return Invalid("/sessionId", "has %d bytes, the limit is %d", len(id), MaxID)
	}
	for _, r := range string(id) {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return Invalid("/sessionId", "contains %q; use letters, digits, _ and -", r)
		}
	}
	return nil
}

// checkText reports why s is not valid UTF-8 of at most limit bytes.
func checkText(field, s string, limit int) error {
	if len(s) > limit {
		return Invalid(field, "has %d bytes, the limit is %d", len(s), limit)
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "is not valid UTF-8")
	}
	return nil
}

// checkName reports why s cannot be one component of a ref name. The empty name stands for a default.
func checkName(field, s string) error {
	if strings.ContainsRune(s, '/') {
		return Invalid(field, "%q contains a slash; a name is one component", s)
	}
	return checkText(field, s, MaxName)
}

func checkNamedHead(s string) error {
	if s == "" {
		return Invalid("/head", "is missing; give a name")
	}
	return checkName("/head", s)
}

func checkKey(key string) error {
	if strings.ContainsRune(key, 0) {
		return Invalid("/key", "contains NUL")
	}
	return checkText("/key", key, MaxKey)
}

func checkActor(a *object.Actor) error {
	if a == nil {
		return nil
	}
	return first(checkText("/actor/clientId", a.ClientID, MaxKey), checkText("/actor/userId", a.UserID, MaxKey),
		checkText("/actor/device", a.Device, MaxKey))
}

func checkLimit(limit int) error {
	if limit < 0 || limit > MaxPage {
		return Invalid("/limit", "is %d; use 1 to %d, or 0 for %d", limit, MaxPage, DefaultPage)
	}
	return nil
}

func checkOID(field string, o object.OID) error {
	if o.IsZero() {
		return Invalid(field, "is missing; give an object id")
	}
	return nil
}

// check reports why c is not a message that can be sent.
func (c Content) check() error {
	if len(c) == 0 {
		return Invalid("/content", "is empty; say something")
	}
	if len(c) > MaxParts {
		return Invalid("/content", "has %d parts, the limit is %d", len(c), MaxParts)
	}
	text, all := 0, 0
	for i, p := range c {
		switch p := p.(type) {
		case message.Text:
			if !utf8.ValidString(p.Text) {
				return Invalid(pointer(i, "text"), "is not valid UTF-8")
			}
			if p.Signature != "" {
				return Invalid(pointer(i, "signature"), "belongs to providers; leave it out")
			}
			text += len(p.Text)
			all += len(p.Text)
		case message.Image:
			if p.MIMEType == "" {
				return Invalid(pointer(i, "mimeType"), "is missing")
			}
			if p.Data == "" {
				return Invalid(pointer(i, "data"), "is missing; give the image in base64")
			}
			if err := checkText(pointer(i, "mimeType"), p.MIMEType, MaxName); err != nil {
				return err
			}
			if !base64Text(p.Data) {
				return Invalid(pointer(i, "data"), "is not base64")
			}
			all += len(p.Data)
		case nil:
			return Invalid(pointer(i, ""), "is missing")
		}
	}
	switch {
	case message.Blank(c):
		return Invalid("/content", "is blank; say something")
	case text > MaxText:
		return Invalid("/content", "has %d bytes of text, the limit is %d", text, MaxText)
	case all > MaxContent:
		return Invalid("/content", "has %d bytes, the limit is %d", all, MaxContent)
	}
	return nil
}

func base64Text(s string) bool {
	body := strings.TrimRight(s, "=")
	if len(s)%4 != 0 || len(s)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		c := body[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}
